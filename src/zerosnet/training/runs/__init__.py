"""Runs: specs, folders, results, checkpoints and the store that holds them."""
