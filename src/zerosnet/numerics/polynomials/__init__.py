"""Polynomials: integer arithmetic, roots and their side of the unit circle."""
