"""Quality: rules as predicates of one row, Great Expectations' verdict on what is about to be published, and
the checks of both.
"""
