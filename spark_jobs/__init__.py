"""Weir's engine: packages stand in the order of the data, from landed files to gold tables."""

__version__ = "0.1.0"
