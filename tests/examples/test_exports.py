"""docs/sources.md: CSV as it comes."""

import os
from datetime import date
from decimal import Decimal

import pytest

from spark_jobs.verify.files import verify_files
from tests.conftest import Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark


def test_exports_of_three_tills_are_read_as_their_sources_say(examples: Workshop) -> None:
    examples.land(
        "exports/prices/1.csv", 'Prices of "today"\n\n# all\n1001;Ink;3.50;\n1002;Pen;;\n1003;Cap\n'
    )
    examples.land("exports/stock/1.csv", '1001\tshelf 5"\t12\n1002\t"bin"\t3\n')
    examples.land("exports/notes/1.csv", "article,note\n1001,'It\\'s ''fine'', still'\n")

    examples.land("exports/tills/7.log", "TILL 7 OF 12\n7 2026-03-01 12.50\n# out of paper\n7 2026-03-02\n")

    for shop, at in ((7, 2_000_000_000), (8, 1_000_000_000)):
        for name, cents in (("a", 100), ("b", 200)):
            file = f"exports/sales/dt=2026-03-01/shop={shop}/{name}.json"
            at += 1
            os.utime(examples.land(file, f'{{"bill":1,"cents":{cents}}}\n'), (at, at))
    examples.land("exports/sales/dt=soon/shop=7/a.json", '{"bill":2,"cents":1}\n')

    result = examples.run("exports")

    assert result.exit_code == 0, result.message
    assert examples.rows("exports.silver.prices", "article", "name", "price") == [
        (1001, "Ink", Decimal("3.50")),
        (1002, "Pen", None),
    ]
    assert examples.rows("exports.silver.stock", "article", "place", "pieces") == [
        (1001, 'shelf 5"', 12),
        (1002, '"bin"', 3),
    ]
    assert examples.rows("exports.silver.notes", "note") == [("It's 'fine', still",)]
    aside = examples.rows("exports.quarantine.silver.prices", "line", "reasons")
    assert [(line, reasons[0]["value"]) for line, reasons in aside] == [(6, "2 fields, its source names 3")]
    assert examples.rows("exports.silver.tills", "till", "cash") == [(7, Decimal("12.50"))]
    assert [line for [line] in examples.rows("exports.quarantine.silver.tills", "line")] == [4]
    [tills] = [one.counts for one in result.tables if one.table == "silver.tills"]
    assert (tills.rows_in, tills.inserted, tills.filtered, tills.quarantined) == (4, 1, 2, 1)
    day = date(2026, 3, 1)
    assert examples.rows("exports.silver.sales", "day", "shop", "cents") == [(day, 7, 200), (day, 8, 200)]
    [(reasons,)] = examples.rows("exports.quarantine.silver.sales", "reasons")
    assert [(one["rule"], one["column"], one["value"]) for one in reasons] == [("type date", "day", "soon")]
    assert verified(examples, "exports") == []
    assert verify_files(examples.project, "exports").exit_code == 0
