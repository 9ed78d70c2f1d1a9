"""The lake: the only reads and writes of tables, their places, transaction ids, leases, checkpoints and
ledger.
"""
