"""Rules for the number of components, one per file.

Begin with `base`: the evidence that a rule sees, and `decide`, which turns a wish for k into a number. `compare` asks
all rules.
"""
