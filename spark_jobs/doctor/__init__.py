"""What stands in the way of a run, or soon will, each with its remedy: `weir doctor`. Starts no JVM."""
