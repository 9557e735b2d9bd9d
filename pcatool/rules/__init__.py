"""How many components to keep: one rule a file."""
