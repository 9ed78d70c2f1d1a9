"""`weir doctor` as a person types it. None of this starts Spark."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from tests.cli.test_usage import PIPELINE
from tests.conftest import ROOT, Workshop

Weir = Callable[..., Result]


@pytest.fixture
def weir(idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Weir:
    """A project with the jars of this one, in which nothing has run yet."""
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.write("conf/totals.sql", "SELECT count(*) AS orders FROM silver.orders\n")
    (idle_workshop.root / ".envs").symlink_to(ROOT / ".envs")
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))
    return lambda *arguments: CliRunner().invoke(app, ["doctor", *arguments], catch_exceptions=False)


def findings(done: Result) -> dict[tuple[str, str], dict[str, Any]]:
    return {(found["area"], found["about"]): found for found in json.loads(done.stdout)["findings"]}


def test_each_line_has_its_remedy_and_fix_does_what_is_safe(weir: Weir, idle_workshop: Workshop) -> None:
    before, fixed, after = weir(), weir("--fix"), weir()

    assert (before.exit_code, fixed.exit_code, after.exit_code) == (0, 0, 0)
    assert f"! landing: {idle_workshop.landing} is not there\n      make it: `mkdir -p " in before.stdout
    assert before.stdout.endswith("; `weir doctor --fix` fixes 1 of them\n")
    assert fixed.stdout.startswith(f"fixed: made {idle_workshop.landing}\n")
    assert f"✓ landing: {idle_workshop.landing} can be read" in after.stdout


def test_json_has_every_finding(weir: Weir) -> None:
    done = weir("--json")

    result = json.loads(done.stdout)
    assert (result["status"], result["exit_code"], result["fixed"]) == ("ok", 0, [])
    found = findings(done)
    assert found[("shop", "tables")]["message"] == "nothing has run yet: `weir run shop`"
    assert {"java", "python", "jars of delta", "archive of classes"} <= {about for _, about in found}
    assert all(one["remedy"] for one in found.values() if one["state"] != "ok")


def test_something_bad_ends_it_with_1(weir: Weir, idle_workshop: Workshop) -> None:
    idle_workshop.write("lake", "no folder")

    done = weir("--json")

    result = json.loads(done.stdout)
    assert (done.exit_code, result["status"], result["exit_code"]) == (1, "bad", 1)
    assert findings(done)[("storage", "lake")]["state"] == "bad"


def test_a_mistake_in_the_configuration_is_a_finding_and_the_rest_is_looked_at(
    weir: Weir, idle_workshop: Workshop
) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE.replace("bigint", "bigit"))

    done = weir("--json")

    found = findings(done)
    assert done.exit_code == 1
    assert found[("project", "configuration")]["message"].startswith(
        "conf/pipelines/shop.yml:6: silver.orders"
    )
    assert found[("project", "configuration")]["remedy"] == "`weir check` names all of them"
    assert ("machine", "java") in found
    assert ("storage", "lake") in found


def test_a_folder_without_a_project_is_a_finding(weir: Weir, idle_workshop: Workshop) -> None:
    (idle_workshop.root / "conf" / "lakehouse.yml").unlink()

    done = weir("--json")

    assert done.exit_code == 1
    assert findings(done)[("project", "configuration")]["message"].startswith("conf/lakehouse.yml:1: ")


def test_a_wrong_name_is_refused_with_the_nearest(weir: Weir) -> None:
    done, profile = weir("shp", "--json"), weir("--profile", "locl", "--json")

    assert (done.exit_code, profile.exit_code) == (2, 2)
    assert "did you mean 'shop'?" in json.loads(done.stdout)["message"]
    assert "did you mean 'local'?" in json.loads(profile.stdout)["message"]


def test_a_fix_that_fails_leaves_its_finding(weir: Weir, idle_workshop: Workshop) -> None:
    idle_workshop.write("landing", "no folder")

    done = weir("--fix")

    assert f"not fixed (made {idle_workshop.landing}): FileExistsError" in done.stderr
    assert "is not there" in done.stdout


def test_a_project_without_a_pipeline_is_looked_at(weir: Weir, idle_workshop: Workshop) -> None:
    (idle_workshop.root / "conf" / "pipelines" / "shop.yml").unlink()

    assert findings(weir("--json"))[("project", "configuration")]["message"] == "0 pipelines, no problem"
