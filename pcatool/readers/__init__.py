"""From bytes, files and frames to blocks of float64: the only place that knows formats."""
