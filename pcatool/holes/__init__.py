"""Rows with missing cells: what there is of them, models fitted to it, scores and fills."""
