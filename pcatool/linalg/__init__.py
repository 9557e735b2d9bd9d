"""The numerical pieces every solver shares: moments, eigenvectors, signs, rank, certificate."""
