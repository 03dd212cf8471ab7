"""Layers for several networks side by side."""
