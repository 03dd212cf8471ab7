"""Finite depth: what a scheme does over N blocks."""
