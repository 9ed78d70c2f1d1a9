"""What PySpark would print of a query's error by itself."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import QueryContextType

from spark_jobs.session.start import OF_QUERY_ERRORS, quiet_query_errors


@pytest.mark.parametrize("kind", list(QueryContextType))
def test_a_query_error_is_raised_and_not_printed_with_its_value(
    kind: QueryContextType, capfd: pytest.CaptureFixture[str]
) -> None:
    levels = {name: logging.getLogger(name).level for name in OF_QUERY_ERRORS}
    place: Any = SimpleNamespace(
        contextType=lambda: kind, callSite=lambda: "shop.py:3", fragment=lambda: "cast"
    )

    quiet_query_errors()
    try:
        AnalysisException(message="the value '4711' cannot be cast", contexts=[place])._log_exception()
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)

    assert capfd.readouterr().err == ""
