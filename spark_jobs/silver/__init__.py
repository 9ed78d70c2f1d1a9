"""Silver: typed rows, one per key, joined with dimensions; and the dimensions themselves."""
