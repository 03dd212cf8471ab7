"""Other people's networks, advanced by a scheme."""
