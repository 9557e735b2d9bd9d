"""Rules for the number of components, one per file.

Begin with `base`: the evidence that a rule sees, `decide`, which turns any value of `-k` into a number, and `compare`,
which asks all rules.
"""
