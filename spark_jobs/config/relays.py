"""What Spark's continuous processing can do: messages from one topic to another in milliseconds, each by
itself, outside the tables.

A file with `relays` has nothing else. `weir stream <pipeline> --trigger 'continuous 1 second'` runs them;
they have no gate and no ledger.
"""

from typing import Annotated

from pydantic import Field

from spark_jobs.config.names import ColumnName, Model, Name
from spark_jobs.config.sinks import Servers, Topic
from spark_jobs.config.sources import Source

FIELDS = {"kafka": ("key", "value", "timestamp", "partition", "offset"), "rate": ("value", "timestamp")}
"""What the expressions of a relay see of a message, by the format that it comes from."""

Expression = Annotated[str, Field(min_length=1)]


class RelayTarget(Model):
    """The topic that messages are sent to."""

    servers: Servers = Field(description="brokers to begin with, as in localhost:9092")
    topic: Topic = Field(description="its messages are this relay's")
    key: ColumnName | None = Field(None, description="the column whose value, as text, is the message's key")
    connection: Name | None = Field(
        None, description="entry of the connections file with the settings that are secret"
    )


class Relay(Model):
    """Messages of a topic, filtered and changed one by one, sent to another."""

    from_: Source = Field(
        alias="from", description="a source as in `sources`: kafka, or rate for development"
    )
    where: Expression | None = Field(
        None, description="SQL condition over the message; others are not sent, and counted nowhere"
    )
    columns: dict[ColumnName, Expression] = Field(
        min_length=1, description="name: SQL expression over the message"
    )
    to: RelayTarget
