import pytest

from spark_jobs.bronze import records


@pytest.fixture(autouse=True)
def _nothing_apart(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is made for ORC where a test is about that."""
    if request.node.get_closest_marker("system") is None:
        monkeypatch.setattr(records, "try_apart", lambda _: None)
