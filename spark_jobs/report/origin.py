"""What started a run, in words: a task of Airflow says it as JSON, others as they like."""

import json

from spark_jobs.report.figures import cut

OF_AIRFLOW = ("dag", "run", "task")
LONGEST = 500


def say_origin(origin: str) -> str:
    """`Airflow: dag, run, task` where the origin is JSON of Airflow; else the text as it is."""
    try:
        known = json.loads(origin)
    except (ValueError, RecursionError):
        known = None
    if isinstance(known, dict) and all(isinstance(known.get(name), str) for name in OF_AIRFLOW):
        return cut(f"Airflow: {', '.join(known[name] for name in OF_AIRFLOW)}", LONGEST)
    return cut(origin, LONGEST)
