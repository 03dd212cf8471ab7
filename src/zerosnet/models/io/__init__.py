"""Networks in files and in the formats of other packages."""
