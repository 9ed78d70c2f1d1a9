"""Ties in words: keys of which several versions have the same sequence and say different things. Somebody must hear of them."""

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.text import count

WINS = {
    "hash": "a hash of their content decided (a delete wins over others); `ties: newest_arrival` lets the one that arrived last win, "
    "and a column in sequence_by that differs ends the tie",
    "newest_arrival": "the one that arrived last won",
}


def say_ties(pipeline: Pipeline, table: str, keys: int) -> str:
    """What a run says of the ties of one table."""
    layer, _, name = table.partition(".")
    if layer == "dimension":
        sequence, ties = pipeline.dimensions[name].sequence_by, pipeline.dimensions[name].ties
    else:
        sequence, ties = str(pipeline.silver[name].sequence_column), pipeline.silver[name].ties
    many = count(keys, "key has", "keys have")
    return f"{table}: {many} versions with the same {sequence} and different content: {WINS[ties]}"
