"""A PostgreSQL of the session's own."""

from collections.abc import Iterator

import pytest

from tests.airflow.postgres import PostgresMissing, find_binaries, postgres


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """host:port/name of an empty database in which everybody on this machine is `weir`."""
    try:
        find_binaries()
    except PostgresMissing as missing:
        pytest.skip(f"skipped, because {missing}")
    with postgres() as url:
        yield url.partition("@")[2]
