"""Who does the work: the same functions of blocks, on the cores of this machine or elsewhere."""
