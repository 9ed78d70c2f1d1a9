"""CSV files of the dimensions: columns in another order from file to file, a column that nobody declared, and
rows with known defects.
"""

from collections import Counter
from collections.abc import Sequence

from spark_jobs.sample.delivery import FileText

Row = tuple[str, ...]

NOTE = "note"  # the undeclared column; its place in an order of columns is the one after the declared ones
DEFECTS = ("too_few_fields", "too_many_fields", "wrong_type", "null_sequence", "blank_line")


def csv_file(
    columns: Sequence[str], order: Sequence[int], rows: Sequence[Row], kinds: Counter[str], defects: int = 0
) -> FileText:
    """Rows come in the order of `columns`, changed_at last, and are written in `order`, with each defect
    `defects` times between them.
    """
    lines = [_line(row, order) for row in rows]
    for number in range(defects):
        for step, defect in enumerate(DEFECTS):
            lines.insert(
                (number * 31 + step * 7) % (len(rows) + 1), _defect(defect, rows[number % len(rows)], order)
            )
    header = _line((*columns, NOTE), order)
    records = len(lines) - defects  # a blank line is no record
    return FileText(
        "\n".join([header, *lines, ""]), records, kinds + Counter(dict.fromkeys(DEFECTS, defects))
    )


def _defect(defect: str, row: Row, order: Sequence[int]) -> str:
    """Orders never start with the key or changed_at, so that a row of another length cannot pass for a right
    one.
    """
    match defect:
        case "too_few_fields":
            return row[order[0]] or "nothing"
        case "too_many_fields":
            return f"stray,{_line(row, order)}"
        case "wrong_type":
            return _line((*row[:-1], "soon"), order)
        case "null_sequence":
            return _line((*row[:-1], ""), order)
        case _:
            return ""


def _line(row: Row, order: Sequence[int]) -> str:
    fields = [(*row, "by hand")[at] for at in order]
    return ",".join(f'"{field}"' if "," in field else field for field in fields)
