"""What `weir state` shows of a store: nothing of a sensitive column."""

from pyspark.sql import Row

from spark_jobs.config.sensitive import MASK
from spark_jobs.config.sensitive_fields import Names
from spark_jobs.run.state import masked_row

HIDDEN = Names(["user", "address", "lines", "notes"])


def test_a_sensitive_column_is_masked_with_all_that_is_in_it_however_its_name_is_spelled() -> None:
    value = Row(
        User="ann",
        Address=Row(street="High Street", number=7),
        LINES=[Row(text="one"), Row(text="two")],
        notes={"first": "secret"},
        visits=[Row(user="bob", page="/")],
        seen={"today": Row(USER="eve", times=2)},
        count=3,
        name=None,
    )

    shown = masked_row(Row(key=Row(user="ann", id=1), value=value), HIDDEN)

    assert shown == {
        "key": {"user": MASK, "id": 1},
        "value": {
            "User": MASK,
            "Address": MASK,
            "LINES": MASK,
            "notes": MASK,
            "visits": [{"user": MASK, "page": "/"}],
            "seen": {"today": {"USER": MASK, "times": 2}},
            "count": 3,
            "name": None,
        },
    }
