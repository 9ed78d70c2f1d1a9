"""Checks of a project before anything starts: every problem at once, with file and line, without Spark."""
