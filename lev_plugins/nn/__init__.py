"""Transformer layers and optimizers that the models share.

Letters for shapes, here and on every line that reshapes:

    B batch   S source length   T target length   C channels   H heads   K insertions per slot   V vocabulary

Activations are batch first, (B, T, C). In attention masks, ``True`` = may be attended to.
"""
