"""Schemes with the smallest parasitic roots."""
