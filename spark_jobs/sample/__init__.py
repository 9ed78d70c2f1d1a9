"""A made-up retail company: its landing zone, of any size and always the same, and the true answers to what its tables should hold."""

from spark_jobs.sample.delivery import SampleSummary
from spark_jobs.sample.write import write_sample

__all__ = ["SampleSummary", "write_sample"]
