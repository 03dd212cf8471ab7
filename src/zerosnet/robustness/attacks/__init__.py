"""Attacks by gradients, AutoAttack, and sanity checks of both."""
