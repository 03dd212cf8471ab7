"""What every block of a network does."""
