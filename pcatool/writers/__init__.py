"""Tables out: one file per format, and the sink that takes their bytes.

Begin with `base` (protocol) and `sink` (atomic files, pipes, objects).
"""
