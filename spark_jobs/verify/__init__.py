"""Verification: every table recomputed from bronze in plain batch, and compared with the one that stands."""
