"""docs/sources.md, Rate and socket: rows by the clock, over two runs."""

import pytest

from tests.conftest import Workshop


@pytest.mark.spark
def test_rows_by_the_clock_are_numbered_without_gap_or_repeat_over_runs(examples: Workshop) -> None:
    first = examples.run("ticks")
    second = examples.run("ticks")

    assert (first.exit_code, second.exit_code) == (0, 0), (first.message, second.message)
    numbers = [number for (number,) in examples.rows("ticks.silver.ticks", "number")]
    assert len(numbers) > 0
    assert sorted(numbers) == list(range(len(numbers)))
    assert sum(count for (count,) in examples.rows("ticks.gold.ticks_per_minute", "tick_count")) == len(
        numbers
    )
