"""The page of `report`: HTML that needs nothing but itself. Its scripts and styles are the files beside.

Begin with `document`.
"""
