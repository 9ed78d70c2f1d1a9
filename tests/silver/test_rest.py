"""The fields that no column takes, as text."""

from spark_jobs.silver.fields import _rest_of_text


def test_numbers_keep_their_digits() -> None:
    record = '{"id":1,"price":12345678901234567890.10,"tiny":[1e-400],"n":9007199254740993,"note":"1.50"}'

    assert _rest_of_text(record, [("id",)]) == (
        '{"n": 9007199254740993, "note": "1.50", "price": 12345678901234567890.10, "tiny": [1e-400]}'
    )


def test_a_text_that_looks_like_a_marked_number_stays_text() -> None:
    assert _rest_of_text('{"note":"\ue0005"}', []) == '{"note": "\ue0005"}'
