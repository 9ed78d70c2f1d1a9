"""What PostgreSQL refuses, and tables that are not the sink's own."""

import pytest

from spark_jobs.run.result import Status
from tests.conftest import Workshop
from tests.sinks import shop
from tests.sinks.shop import ask, order, run

pytestmark = pytest.mark.spark


def test_what_the_database_refuses_is_told_without_values_and_leaves_nothing_behind(
    workshop: Workshop, database: str
) -> None:
    shop.declare(
        workshop,
        shop.LOG,
        "  pg: {from: silver.log, to: jdbc, connection: warehouse, table: strict, mode: append}\n",
        database,
    )
    ask(
        database,
        "CREATE TABLE public.strict (id bigint, name varchar(3), at timestamptz, note text DEFAULT 'theirs')",
    )
    workshop.land("orders/1.json", order(1, 1, "Ann") + order(2, 1, "Secret"))

    too_long = workshop.run("shop")

    assert too_long.status is Status.FAILED
    assert "sink.pg: the database refused it while inserting rows (SQLSTATE 22001" in too_long.message
    logs = "".join(file.read_text() for file in (workshop.root / "logs").rglob("*.log"))
    assert "Secret" not in too_long.message + logs
    assert ask(database, "SELECT count(*) FROM public.strict") == [["0"]]
    ask(database, "ALTER TABLE public.strict ALTER name TYPE text; INSERT INTO public.strict (id) VALUES (7)")
    assert "TargetNotEmpty" in workshop.run("shop").message
    ask(database, "DELETE FROM public.strict")
    run(workshop)
    assert ask(database, "SELECT id, name, note FROM public.strict ORDER BY id") == [
        ["1", "Ann", "theirs"],
        ["2", "Secret", "theirs"],
    ]


def test_a_character_that_postgres_cannot_hold_is_named_by_its_column(
    workshop: Workshop, database: str
) -> None:
    shop.declare(
        workshop,
        shop.LOG,
        "  pg: {from: silver.log, to: jdbc, connection: warehouse, table: nul, mode: append}\n",
        database,
    )
    workshop.land("orders/1.json", order(1, 1, "a\0b"))

    refused = workshop.run("shop")

    assert refused.status is Status.FAILED
    assert "NulInText: sink.pg: a value of name has the character NUL" in refused.message
    assert ask(database, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'weir_stage%'") == [], (
        "a batch that was not staged to its end is gone"
    )
