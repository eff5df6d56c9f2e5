"""Models whose answer is known: a closed form beside the exact recursion it must agree with.

They are the ground truth of the tests, and small enough to try an idea on. Each has one module:
:mod:`ridge`, :mod:`two_weights`, :mod:`pure_noise`, :mod:`linear_teacher`,
:mod:`diagonal_network` and :mod:`logistic_bias` (a negative control: no decay, growing norm).
"""
