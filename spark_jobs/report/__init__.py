"""The data-quality report: what the ledger knows of a run, as one HTML file that a person understands in ten
seconds. No JVM.
"""
