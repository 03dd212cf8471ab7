"""Networks as attacks see them."""
