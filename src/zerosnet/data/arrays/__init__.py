"""Data sets that fit into memory as arrays."""
