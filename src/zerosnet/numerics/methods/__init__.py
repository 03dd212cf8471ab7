"""Families of methods, their order, and a stepper that applies them."""
