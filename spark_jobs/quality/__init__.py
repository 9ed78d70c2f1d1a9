"""Quality: rules as predicates of one row, Great Expectations' verdict on what is about to be published, and the checks of both."""

import sys

# GX imports Spark Connect, which takes a main module without a file (`python -c`) for its own doctests and ends the process with exit 0.
_main = sys.modules["__main__"]
if _main.__spec__ is None and not hasattr(_main, "__file__"):
    _main.__file__ = "-c"
