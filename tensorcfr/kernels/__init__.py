"""Numba kernels: small functions on arrays, with their shapes in the docstrings."""
