"""Recipes: how a network is trained, as values."""
