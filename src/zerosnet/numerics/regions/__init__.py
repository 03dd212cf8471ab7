"""Absolute stability: regions in the complex plane and intervals on its axes."""
