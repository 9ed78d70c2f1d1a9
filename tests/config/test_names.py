"""Schedules of five fields."""

import pytest

from spark_jobs.config.names import check_cron


@pytest.mark.parametrize(
    "text", ["*/15 * * * *", "0 6 * * mon-fri", "0,30 8-18/2 1 JAN 7", "59 23 31 12 0", "@daily"]
)
def test_a_cron_expression_passes(text: str) -> None:
    assert check_cron(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("* * * *", "has 4 fields; write five"),
        ("0 0 * * * *", "has 6 fields"),
        ("60 * * * *", "'60' does not fit the field 'minute'; allowed: 0 to 59"),
        ("* 24 * * *", "'24' does not fit the field 'hour'; allowed: 0 to 23"),
        ("* * 0 * *", "'0' does not fit the field 'day of the month'; allowed: 1 to 31"),
        ("* * * 13 *", "'13' does not fit the field 'month'; allowed: 1 to 12 or jan to dec"),
        ("* * * * mo", "'mo' does not fit the field 'day of the week'; allowed: 0 to 7 or sun to sat"),
        ("*/0 * * * *", "'*/0' has no usable step"),
        ("5/10 * * * *", "'5/10' has no usable step"),
        ("30-10 * * * *", "the minute '30-10' ends before it starts"),
        ("1,,2 * * * *", "'' does not fit the field 'minute'"),
        ("@dayly", "'@dayly' is not a schedule; did you mean '@daily'?"),
        ("every hour", "has 2 fields"),
        ("٣ * * * *", "does not fit"),
    ],
)
def test_anything_else_is_refused_with_the_field(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^.+$") as caught:
        check_cron(text)

    assert reason in str(caught.value)
