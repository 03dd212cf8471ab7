"""The paper's tables as data."""
