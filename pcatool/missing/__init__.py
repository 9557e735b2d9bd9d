"""Rows with missing cells: counts, models fitted to them, scores and fills.

Begin with `em` (the fit) and `project` (a model applied).
"""
