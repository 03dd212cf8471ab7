"""Several networks trained as one, on data in memory."""
