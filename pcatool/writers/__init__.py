"""Tables out: one file per format, and the sink that takes their bytes to where they belong."""
