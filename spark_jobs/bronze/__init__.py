"""Bronze: every record of a landed file as it arrived, one row each."""
