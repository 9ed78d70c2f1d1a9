"""The shipped profile for S3, on a real server: landing zone and tables there, and every row as on a disk."""

import re
from pathlib import Path

import pytest

from spark_jobs.lake import storage
from tests.engines.conftest import Shop, assert_same_tables, environ_of, start_weir, tables_below
from tests.s3.server import SECRET, S3Server, upload

pytestmark = pytest.mark.system


def test_tables_on_s3_are_those_of_the_local_profile_and_nobody_is_told_the_key(
    shop: Shop, s3: S3Server, tmp_path: Path
) -> None:
    project, bucket = shop.project(tmp_path / "home"), s3.new_bucket()
    profile = project / "conf" / "profiles" / "s3.yml"
    text, found = re.subn("s3a://weir/", f"s3a://{bucket}/", profile.read_text(encoding="utf-8"))
    assert found == 2
    profile.write_text(text, encoding="utf-8")
    upload(shop.workshop.landing, f"s3a://{bucket}/landing")

    run = start_weir({**environ_of(project, "local"), **s3.environ}, "run", "retail", "--profile", "s3")
    exit_code, said = run.end()

    assert exit_code == 0, said
    lake = f"s3a://{bucket}/lake"
    layers = [layer for layer in storage.names_in(f"{lake}/retail") if not layer.startswith("_")]
    names = [f"{layer}/{name}" for layer in layers for name in storage.names_in(f"{lake}/retail/{layer}")]
    assert_same_tables(tables_below(lake, "retail", names=names), shop.tables("retail"))
    assert [line for line in run.command_lines if SECRET in line] == []
    written = [
        file for folder in ("logs", "reports") for file in (project / folder).rglob("*") if file.is_file()
    ]
    assert len(written) > 1
    assert [
        file.name for file in written if SECRET in file.read_text(encoding="utf-8", errors="replace")
    ] == []
