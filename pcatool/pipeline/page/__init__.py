"""A model and rows as one page to look at."""
