"""The theory as named objects: each formula with its assumptions, its proof and its number.

A formula is written once, as a string in plain arithmetic (``-2*log1p(-eta*lam)``). numpy
evaluates that string, sympy proves the statement made of it, and the documentation prints it;
see :mod:`nht_theory.formulas.expressions`. The formulas themselves live in one module per topic,
listed in :mod:`nht_theory.formulas.catalogue`.
"""
