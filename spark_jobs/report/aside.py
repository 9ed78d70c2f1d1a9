"""Why rows are not in the tables: the reasons that hold most rows back, with some rows of each. Sensitive values are masked here."""

from collections.abc import Collection, Iterable

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.reasons import Reason, SetAsideRow, count_reasons, sample_rows
from spark_jobs.quality.masking import mask_reasons
from spark_jobs.report.facts import ReasonFact, Sample
from spark_jobs.report.figures import cut

REASONS_SHOWN = 8
SAMPLES_SHOWN = 3
PLACES = ("quarantine", "parked")
FILE_LENGTH = 200


def top_reasons(pipeline: Pipeline, lake: Lake, tables: Iterable[str], run_id: str) -> tuple[ReasonFact, ...]:
    """Per table and place the reasons that hold most rows back, those with rows of this run first."""
    found = [fact for table in tables for place in PLACES for fact in _reasons(pipeline, lake, table, place, run_id)]
    return tuple(sorted(found, key=lambda fact: (-fact.new_rows, -fact.open_rows, fact.table, fact.rule)))


def _reasons(pipeline: Pipeline, lake: Lake, table: str, place: str, run_id: str) -> list[ReasonFact]:
    path, sensitive = lake.table(f"{place}.{table}"), sensitive_columns(pipeline, table)
    counts = count_reasons(path)
    if not counts:
        return []
    new = count_reasons(path, [run_id])
    shown = sorted(counts, key=lambda reason: (-new[reason], -counts[reason], reason))[:REASONS_SHOWN]
    samples = sample_rows(path, [reason for reason in shown if new[reason]], SAMPLES_SHOWN, [run_id])
    samples |= sample_rows(path, [reason for reason in shown if reason not in samples], SAMPLES_SHOWN)
    return [
        ReasonFact(
            table=table,
            place=place,
            rule=cut(reason[0]),
            column=cut(reason[1]),
            open_rows=counts[reason],
            new_rows=new[reason],
            samples=tuple(_sample(row, reason, sensitive) for row in samples.get(reason, [])),
        )
        for reason in shown
    ]


def _sample(row: SetAsideRow, reason: Reason, sensitive: Collection[str]) -> Sample:
    [shown] = mask_reasons([{"rule": reason[0], "column": reason[1], "value": row.value}], sensitive)
    value = "(no value)" if shown["value"] is None else cut(shown["value"])
    return Sample(cut(row.file, FILE_LENGTH), row.line, row.element, value)
