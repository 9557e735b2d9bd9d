"""Engines: the same functions of blocks, on the cores of this machine or elsewhere.

Begin with `threads`; `base` is the protocol of engines in other processes.
"""
