"""Protocols: what is measured of a network, and the result as a value."""
