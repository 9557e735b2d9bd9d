"""Reports as text and pictures. Functions take data and return text or bytes; nothing here prints or exits.

Begin with `text` (tables and lines) and `summary` (reports of a run). `figures` holds what all pictures share; `plots`
the plots of scores and loadings; `report` the HTML page.
"""
