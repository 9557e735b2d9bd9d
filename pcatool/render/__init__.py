"""Reports as text and pictures: data in, text or bytes out. Nothing here prints or exits.

Begin with `text` and `summary`; `figures` is what all pictures share.
"""
