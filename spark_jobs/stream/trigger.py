"""When an always-on stream looks for work: the triggers of Structured Streaming, by name."""

import re
from dataclasses import dataclass
from datetime import timedelta

from spark_jobs.config.errors import UsageError
from spark_jobs.config.names import parse_duration, shorten
from spark_jobs.config.pipeline import Pipeline

AVAILABLE_NOW, ONCE, FAST, CONTINUOUS = "available-now", "once", "as-fast-as-possible", "continuous"
TRIGGERS = f"{AVAILABLE_NOW}, {ONCE}, {FAST}, a pause such as '30 seconds', or '{CONTINUOUS} 1 second'"


class UnknownTrigger(ValueError):
    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(f"there is no trigger {shorten(text)}; there are {TRIGGERS}")


@dataclass(frozen=True)
class Trigger:
    """`every` is the time from the start of an increment to that of the next; of `continuous` how often its
    progress is written down.
    """

    name: str
    every: timedelta = timedelta()

    @property
    def ends_by_itself(self) -> bool:
        return self.name in (AVAILABLE_NOW, ONCE)

    @property
    def pause(self) -> timedelta:
        """Between looks; of `continuous`, where queries stay open, there is nothing to wait for."""
        return timedelta() if self.name == CONTINUOUS else self.every

    def __str__(self) -> str:
        seconds = self.every.total_seconds()
        return f"{self.name} ({seconds:g} s)" if seconds else self.name


def parse_trigger(text: str) -> Trigger:
    """UnknownTrigger unless it is one of them."""
    words = text.strip()
    if words in (AVAILABLE_NOW, ONCE, FAST):
        return Trigger(words)
    name, pause = (
        (CONTINUOUS, words[len(CONTINUOUS) :]) if re.match(rf"{CONTINUOUS}\b", words) else ("every", words)
    )
    try:
        return Trigger(name, parse_duration(pause))
    except ValueError:
        raise UnknownTrigger(text) from None


def check_trigger(pipeline: Pipeline, trigger: Trigger, where: str = "--trigger") -> None:
    """UsageError where the pipeline cannot be run by this trigger, which `where` has asked for."""
    if trigger.ends_by_itself and pipeline.live_sources:
        source = pipeline.live_sources[0]
        message = (
            f"source {source!r} keeps nothing, so that a run which ends would lose what is sent after it"
        )
        hint = f"run `weir stream {pipeline.name}`, with --trigger {FAST} or a pause such as '1 second'"
        raise UsageError(where, str(trigger), message, hint)
    if pipeline.relays and trigger.name != CONTINUOUS:
        message = (
            "the pipeline has relays, which only Spark's continuous processing runs: there is no increment,"
            " and nothing that ends"
        )
        raise UsageError(
            where, str(trigger), message, f"run `weir stream {pipeline.name} --trigger 'continuous 1 second'`"
        )
    if trigger.name == CONTINUOUS and not pipeline.relays:
        message = (
            "the continuous trigger has no batches: Spark then knows neither foreachBatch nor Delta as a"
            " target, so that nothing could be judged before it is published, and no sum be checked"
        )
        hint = (
            f"use --trigger {FAST}, or a pause such as '1 second'; topics can be joined without tables by"
            " `relays` (docs/always-on.md)"
        )
        raise UsageError(where, str(trigger), message, hint)
