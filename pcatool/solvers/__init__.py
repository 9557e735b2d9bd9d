"""One solver a file; `auto` chooses between them."""
