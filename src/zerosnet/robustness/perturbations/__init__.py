"""Noises and common corruptions."""
