"""One file for each kind of picture of scores and loadings, and what they share."""
