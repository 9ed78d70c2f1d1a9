"""What leaves the lake beside Delta: the changes of a published table, batch by batch, to files, topics,
databases and functions.
"""
