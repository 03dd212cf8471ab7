"""Checks of a store: identities, journals against results, checksums, and predictions older than their runs."""
