"""Registers landed files as arrivals: what a look at the folder of a source finds new or changed is written
down.

Needs no JVM. Whoever calls holds the pipeline's lease.
"""

from datetime import datetime

from spark_jobs.landing.arrivals import append_chunk, append_chunks, compact_arrivals
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.look import Arrivals, look_at


def register_arrivals(feed: Feed, arrived_at: datetime, consumed: int | None = None) -> Arrivals:
    """Append what is new to the arrivals table. `consumed` is the last chunk that bronze has read."""
    look = look_at(feed, arrived_at, consumed)
    if look.rows:
        if consumed is not None and not look.is_behind:
            compact_arrivals(feed)
        append_chunks(feed, look.rows, arrived_at)
    if look.mark:
        append_chunk(feed, [look.mark], arrived_at)
    return look.found
