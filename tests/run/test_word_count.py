"""The guide's word count, file by file: the same tables in any grouping of the files into runs, and the late
word counted once.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from tests.conftest import ROOT, Workshop

pytestmark = pytest.mark.spark

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
FILES: list[list[tuple[int, str]]] = [
    [(2, "cat dog"), (3, "dog dog")],
    [(7, "owl cat")],
    [(11, "dog"), (14, "owl"), (8, "cat")],
    [(26, "fox")],  # the watermark is 12:16 now: the windows that end at 12:15 or before are closed
    # 12:04 is too late for both of its windows, the others for none
    [(4, "donkey"), (17, "owl"), (25, "fox")],
]
GROUPINGS = [
    (1, 3, 1),
    (5,),
    *(pytest.param(grouping, marks=pytest.mark.soak) for grouping in ((1, 1, 1, 1, 1), (2, 3))),
]
"""The late word comes alone, or in one batch with what made it late."""
SIZE, SLIDE, DELAY = 10, 5, 10


def windows_of(minute: int) -> list[int]:
    """The starts of the windows of a minute, in minutes after noon."""
    last = minute // SLIDE * SLIDE
    return list(range(last - SIZE + SLIDE, last + 1, SLIDE))


def expected() -> tuple[Counter[tuple[int, str]], Counter[tuple[int, str]], list[tuple[int, int]]]:
    """What is right, by hand: all windows; the closed ones without what came late for them; the late (window,
    minute).
    """
    everything: Counter[tuple[int, str]] = Counter()
    on_time: Counter[tuple[int, str]] = Counter()
    late, seen = [], -100
    for file in FILES:
        for minute, words in file:
            for start in windows_of(minute):
                for word in words.split():
                    everything[start, word] += 1
                    if start + SIZE <= seen - DELAY:
                        late.append((start, minute))
                    else:
                        on_time[start, word] += 1
        seen = max(seen, *(minute for minute, _ in file))
    closed = Counter({key: count for key, count in on_time.items() if key[0] + SIZE <= seen - DELAY})
    return everything, closed, late


def lines(file: list[tuple[int, str]]) -> str:
    said = ((NOON + timedelta(minutes=minute), words.split()) for minute, words in file)
    return "".join(
        f'{{"at":"{at.isoformat()}","words":{str(words).replace(chr(39), chr(34))}}}\n' for at, words in said
    )


def counts(workshop: Workshop, table: str) -> Counter[tuple[int, str]]:
    rows = workshop.rows(f"word_count.gold.{table}", "window_start", "word", "word_count")
    return Counter({((start - NOON) // timedelta(minutes=1), word): count for start, word, count in rows})


@pytest.mark.parametrize("grouping", GROUPINGS, ids=str)
def test_any_grouping_gives_the_same_windows_and_finds_the_late_word_once(
    new_workshop: Callable[[], Workshop], grouping: tuple[int, ...]
) -> None:
    workshop = new_workshop()
    workshop.write("conf/pipelines/word_count.yml", Path(ROOT, "conf/pipelines/word_count.yml").read_text())
    everything, closed, late = expected()
    assert late == [(-5, 4), (0, 4)]
    landed = 0
    for count in grouping:
        for number in range(landed, landed + count):
            workshop.land(f"word_count/words/{number}.json", lines(FILES[number]))
        landed += count
        result = workshop.run("word_count")
        assert result.exit_code == 0, result.message

    assert counts(workshop, "word_counts") == everything
    assert counts(workshop, "closed_word_counts") == closed
    kept = workshop.rows("word_count.late.gold.closed_word_counts", "window_start", "event_at", "row")
    assert [
        ((start - NOON) // timedelta(minutes=1), (at - NOON) // timedelta(minutes=1))
        for start, at, _ in sorted(kept)
    ] == late
    assert all('"donkey"' in row for _, _, row in kept)
    accounts: dict[str, dict[str, Any]] = {
        row["table"]: row
        for row in sum_up(workshop.project.pipelines["word_count"], Lake(workshop.project.lake, "word_count"))
    }
    assert [accounts[f"gold.{name}"]["late"] for name in ("word_counts", "closed_word_counts")] == [1, 1]
    assert [row["missing"] for row in accounts.values()] == [0, 0, 0, 0]
