"""The paper's sentences, checked against its own tables."""
