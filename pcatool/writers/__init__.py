"""Writers of tables, one module per format, and the sink that takes their bytes.

Begin with `base` (the protocol) and `sink` (atomic files, pipes, objects in a store; compression).
`target` says what may be written where.
"""
