"""The shipped pipelines over the sample are what bronze gives, by the command itself as well."""

import json
import subprocess
import sys

import pytest

from spark_jobs.sample.write import write_sample
from tests.conftest import ROOT, Workshop, weir_environ
from tests.verify.conftest import Verify, checks, differing

pytestmark = pytest.mark.spark


def test_the_shipped_sample_is_clean(shipped: Workshop, verify: Verify) -> None:
    for increment in range(2):
        write_sample(shipped.landing, orders=200, increment=increment)
        assert shipped.run("retail").exit_code == 0

    found = verify(shipped, "retail")

    assert differing(found) == {}
    assert (found.exit_code, found.status) == (0, "ok"), found.message
    assert [name for name, check in checks(found).items() if check.rows] == [check.table for check in found.tables]
    assert {"dimension.customers", "silver.orders", "silver.order_lines", "gold.revenue_per_hour", "gold.top_products"} <= set(
        checks(found)
    )

    environ = weir_environ(WEIR_HOME=str(ROOT), WEIR_LAKE=str(shipped.root / "lake"), WEIR_LANDING=str(shipped.landing))
    command = [sys.executable, "-m", "spark_jobs.cli", "verify", "retail", "--select", "gold.revenue_per_hour", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=ROOT, timeout=300, check=False)

    assert done.returncode == 0, done.stderr
    [table] = json.loads(done.stdout)["tables"]
    assert (table["table"], table["is_equal"], table["rows"]) == (
        "gold.revenue_per_hour",
        True,
        checks(found)["gold.revenue_per_hour"].rows,
    )
    assert "gold.revenue_per_hour" in done.stderr
