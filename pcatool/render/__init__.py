"""Reports as text and pictures. Functions take data and return text or bytes; nothing here prints or exits.

Begin with `text` (tables and lines) and `summary` (reports of a run). `figures` holds the code that all pictures share.
`scree` draws scree charts as text and picture, `component_images` draws components as images, `plots` holds the plots
of scores and loadings, and `report` the HTML page.

Six modules make the sentences about models and runs:
- `render.facts` describes a fitted model: solver, rank, kept components, certificate, sums.
- `render.summary` reports what a run has read, fitted and written.
- `render.inspection` lists the contents of a model file for `inspect`.
- `render.report.sentences` has the lead, the verdict and the caveats of the HTML page.
- `model.description` puts a model's method and settings into words, for all of the above and for notebooks.
- `pipeline.describe` collects the facts that `inspect` and `diff` show, with the reasons for what cannot be compared.
"""
