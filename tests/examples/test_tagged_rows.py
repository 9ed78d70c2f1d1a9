"""docs/expectations.md: the invoices of "Tagged rows" say and count what the page shows."""

from decimal import Decimal

import pytest

from spark_jobs.run.result import Status
from tests.conftest import Workshop
from tests.examples.page import blocks, section, tables
from tests.project.test_docs import RULES_PAGE, pipeline_blocks
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark


def test_the_invoices_name_the_rules_that_they_fail(workshop: Workshop) -> None:
    shown = section("expectations.md", "Tagged rows")
    rules, gold = blocks(shown, "yaml")
    [billing] = pipeline_blocks(RULES_PAGE)
    doubtful = gold.partition("gold:\n")[2]
    workshop.write("conf/pipelines/billing.yml", billing.replace("gold:\n", f"gold:\n{doubtful}"))
    workshop.write(rules.splitlines()[0].removeprefix("# "), rules)
    workshop.land("billing/invoices/a.json", blocks(shown, "json")[0])
    workshop.land("billing/customers/a.csv", "customer_id,country,changed_at\n7,at,2024-01-01 00:00:00\n")

    assert workshop.run("billing").status is Status.OK

    rows = workshop.rows("billing.silver.invoices", "invoice_id", "_failed_rules")
    assert [{"invoice_id": str(key), "_failed_rules": str(names)} for key, names in rows] == tables(shown)[0]
    counted = ("invoice_count", "doubtful", "without_country", "sure_revenue")
    day = workshop.rows("billing.gold.doubtful_per_day", *counted)
    assert day == [(3, 2, 1, Decimal("250.00"))]

    workshop.land("billing/customers/b.csv", "customer_id,country,changed_at\n8,de,2024-01-01 00:00:00\n")
    assert workshop.run("billing").status is Status.OK

    corrected = dict(workshop.rows("billing.silver.invoices", "invoice_id", "_failed_rules"))
    assert corrected == {1: [], 2: ["total_is_usual"], 3: ["total_is_usual"]}
    assert workshop.rows("billing.gold.doubtful_per_day", "without_country") == [(0,)]
    assert verified(workshop, "billing") == []
