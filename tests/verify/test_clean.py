"""Lakes that runs have made are what bronze gives."""

import pytest

from spark_jobs.sample.write import write_sample
from tests.conftest import Workshop
from tests.verify.conftest import Verify, checks, differing

pytestmark = pytest.mark.spark


def test_the_shipped_sample_is_clean_after_every_delivery(shipped: Workshop, verify: Verify) -> None:
    for increment in range(2):
        write_sample(shipped.landing, orders=200, increment=increment)
        assert shipped.run("retail").exit_code == 0

    found = verify(shipped, "retail")

    assert differing(found) == {}
    assert (found.exit_code, found.status) == (0, "ok"), found.message
    rows = {table: check.rows for table, check in checks(found).items()}
    assert {table: count > 0 for table, count in rows.items() if "quarantine" not in table} == {
        "dimension.customers": True,
        "dimension.products": True,
        "silver.orders": True,
        "silver.order_lines": True,
        "gold.revenue_per_hour": True,
        "gold.top_products": True,
    }
