"""The example project of docs/, in a folder of the test's own: what the pages show is what is run."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT, Workshop


@pytest.fixture
def examples(tmp_path: Path, spark: SparkSession) -> Workshop:
    shutil.copytree(ROOT / "docs" / "examples", tmp_path, dirs_exist_ok=True)
    workshop = Workshop(tmp_path, spark)
    lakehouse = (tmp_path / "conf" / "lakehouse.yml").read_text(encoding="utf-8")
    workshop.write("conf/lakehouse.yml", f"{lakehouse}keep_reports: 0\n")  # a second for each run
    return workshop
