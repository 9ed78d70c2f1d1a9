"""Runs in Airflow's environment: the buttons that a person gets for blocked batches."""

import json

import airflow  # noqa: F401 - puts plugins/ on the path
from weir_tasks import body, options_for

SILVER = {"table": "silver.a", "rules": ["usual"], "rows": 3, "actions": ["release", "set_aside", "hold"]}
GOLD = {"table": "gold.b", "rules": ["few"], "rows": 3, "actions": ["release", "hold"]}
OLD = {"table": "silver.a", "rules": ["usual"], "rows": 3}
asked = {"silver": [SILVER], "gold": [GOLD], "both": [SILVER, GOLD], "old": [OLD]}
print(
    json.dumps(
        {name: {"options": options_for(held), "body": body("shop", held)} for name, held in asked.items()}
    )
)
