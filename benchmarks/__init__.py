"""Measurements: `python -m benchmarks [NAME...]`; results with command, versions and hardware in benchmarks/results."""
