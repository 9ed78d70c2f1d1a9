"""A pipeline that is always on: its increments follow one another in one warm session, with open queries
where a source keeps nothing.
"""
