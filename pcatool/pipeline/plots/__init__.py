"""Pictures of scores and loadings: what is given is told apart, fitted or projected, and drawn or printed."""
