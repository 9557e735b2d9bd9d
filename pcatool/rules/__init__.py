"""Rules for the number of components, one per file.

Begin with `base`: what a rule sees, and where a wish for k becomes a number. `compare` asks all rules.
"""
