"""Diagnosis of a network, block by block."""
