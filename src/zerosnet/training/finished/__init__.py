"""Networks of finished runs."""
