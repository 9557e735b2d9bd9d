"""PCA of rows with missing cells: counts, fits, scores and fills.

Begin with `em` (maximum likelihood fit) and `project` (apply a model). `census` counts observed cells,
`mean_imputation` fits with column means in the missing cells.
"""
