"""What people ask of a lake that stands: read from its ledger and logs, without a JVM."""
