"""Benchmarks. Each measures Weir and a plain job for the same tables in one run, one after the other, and
prints the ratio.
"""
