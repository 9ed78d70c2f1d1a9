"""What Airflow shows of a project is what `weir check` finds in it, asked once for each
state of the files.
"""

from pathlib import Path

import pytest
import weir_check
from weir_check import find_problems, fingerprint_of

from tests.conftest import ROOT

POWER = """
pipeline: power
sources: {readings: {format: csv, path: power}}
silver:
  readings:
    from: readings
    columns: {reading_id: bigint, sent_at: timestamp}
    key: reading_id
    sequence_by: send_at
"""
PROBLEM = "conf/pipelines/power.yml:9: silver.readings.sequence_by: there is no column 'send_at'"


@pytest.fixture
def power(tmp_path: Path) -> Path:
    for path, text in {
        "lakehouse.yml": "landing: landing\nlake: lake\n",
        "profiles/local.yml": "master: local[1]\n",
        "pipelines/power.yml": POWER,
    }.items():
        (tmp_path / "conf" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / path).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.system
def test_a_wrong_column_is_found_with_its_line_and_gone_when_it_is_corrected(power: Path) -> None:
    weir, kept = str(ROOT / ".envs" / "spark" / "bin" / "weir"), power / "kept.json"

    [found] = find_problems(power, weir, kept)
    assert found.startswith(PROBLEM)
    assert "did you mean 'sent_at'?" in found

    (power / "conf" / "pipelines" / "power.yml").write_text(
        POWER.replace("send_at", "sent_at"), encoding="utf-8"
    )
    assert find_problems(power, weir, kept) == []


@pytest.mark.system
def test_the_command_is_asked_once_for_the_same_files(power: Path) -> None:
    command, kept = power / "weir", power / "kept.json"
    command.write_text(
        f'#!/bin/sh\necho asked >> "{power}/asked"\necho \'{{"problems": []}}\'\n', encoding="utf-8"
    )
    command.chmod(0o755)

    assert [find_problems(power, str(command), kept) for _ in range(3)] == [[], [], []]
    assert (power / "asked").read_text(encoding="utf-8") == "asked\n"


def test_the_command_is_asked_again_after_an_upgrade_and_where_a_variable_that_counts_has_changed(
    power: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = power / "spark_jobs" / "checks.py"
    code.parent.mkdir()
    code.write_text("before", encoding="utf-8")
    monkeypatch.setattr(weir_check, "CODE", code.parent)
    known = [fingerprint_of(power, "weir")]

    monkeypatch.setenv("WEIR_PROFILE", "cluster")
    known.append(fingerprint_of(power, "weir"))
    code.write_text("after it", encoding="utf-8")
    known.append(fingerprint_of(power, "weir"))

    assert len(set(known)) == 3
    assert fingerprint_of(power, "weir") == known[-1]


@pytest.mark.system
@pytest.mark.parametrize("script", ["exit 1", "echo no JSON", None])
def test_a_command_that_gives_no_answer_is_no_problem_of_the_files(power: Path, script: str | None) -> None:
    command = power / "weir"
    if script:
        command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        command.chmod(0o755)

    assert find_problems(power, str(command), power / "kept.json") == []
    assert not (power / "kept.json").exists()
