"""The root condition: one scheme exactly, millions in floats, and whole families."""
