"""The HTML page of the command `report`, one self-contained file; scripts, styles and templates are in this folder.

Begin with `document`.
"""
