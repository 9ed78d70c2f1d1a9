"""Parquet and ORC files that hold much more than their size."""

import io
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from spark_jobs.bronze import batches, columnar
from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from tests.bronze.arrive import arrived, read, refusal

LONG = "x" * 300_000


class Counted(io.FileIO):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.fetched, self.size = 0, path.stat().st_size

    def readinto(self, buffer: Any) -> int | None:
        found = super().readinto(buffer)
        self.fetched += found or 0
        return found


def write(folder: Path, file_format: str, table: pa.Table) -> Path:
    path = folder / f"a.{file_format}"
    if file_format == "parquet":
        pq.write_table(table, path, compression="zstd")
    else:
        orc.write_table(table, str(path), compression="zstd", dictionary_key_size_threshold=1.0)
    return path


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_rows_are_spelled_out_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    monkeypatch.setattr(columnar, "ORC_ROWS", 10)
    path = write(tmp_path, file_format, pa.table({"id": range(500), "text": [LONG] * 500}))
    assert path.stat().st_size < 100_000
    source = FileSource.model_validate({"format": file_format, "path": "in"})

    tracemalloc.start()
    counts = [(batch.num_rows, batch.nbytes) for batch in read_records(arrived(path), source)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sum(rows for rows, _ in counts) == 500
    assert max(size for _, size in counts) < 2 * batches.BYTES_PER_BATCH
    assert most < 8 * batches.BYTES_PER_BATCH


@pytest.mark.parametrize("is_nested", [False, True])
def test_names_of_columns_are_spelled_out_a_few_rows_at_a_time(tmp_path: Path, is_nested: bool) -> None:
    columns = {f"{number:02}{'x' * 3000}": pa.nulls(1000, pa.int8()) for number in range(100)}
    objects = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    path = write(tmp_path, "parquet", pa.table({"o": objects} if is_nested else columns))
    assert path.stat().st_size < 3_000_000
    source = FileSource.model_validate({"format": "parquet", "path": "in"})

    tracemalloc.start()
    rows = sum(batch.num_rows for batch in read_records(arrived(path), source))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert rows == 1000
    assert most < 8 * batches.BYTES_PER_BATCH


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_row_that_is_too_long_is_set_aside_wherever_its_text_is(tmp_path: Path, file_format: str) -> None:
    texts = pa.array([["a"], ["b"] * 2000, ["c"]])
    found = read(write(tmp_path, file_format, pa.table({"texts": texts})), file_format, bytes_per_record=3000)
    assert [(line, record is None) for line, record, _ in found] == [(1, False), (2, True), (3, False)]
    assert "longer than bytes_per_record allows: 3,000" in str(found[1][2])


def test_a_parquet_row_with_more_values_than_a_record_has_bytes_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, "parquet", pa.table({"list": [[1] * 1_000_000]}))
    assert path.stat().st_size < 10_000
    assert "1 row with 1,000,000 values in a column" in refusal(
        read(path, "parquet", bytes_per_record=100_000)
    )


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "zstd"])
@pytest.mark.parametrize("item", [0, None])
def test_a_list_without_end_in_a_small_orc_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, item: int | None
) -> None:
    lists = pa.array([[item] * 100_000, None, *([[1]] * 998)], pa.list_(pa.int8()))
    orc.write_table(pa.table({"list": lists}), tmp_path / "a", compression=codec)
    assert len(read(tmp_path / "a", "orc")) == 1000

    monkeypatch.setattr(columnar, "MOST_VALUES", 50_000)
    monkeypatch.setattr(columnar, "VALUES_PER_BYTE", 1)
    assert "1,000 rows with 100,998 values in a column" in refusal(read(tmp_path / "a", "orc"))


def test_values_of_which_one_row_may_have_nearly_all_are_not_read_from_a_small_parquet_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = pa.array([[0] * 1_000_000, *([[1]] * 999)], pa.list_(pa.int8()))
    path = write(tmp_path, "parquet", pa.table({"list": lists}))
    assert len(read(path, "parquet")) == 1000

    monkeypatch.setattr(columnar, "MOST_VALUES", 500_000)
    assert "1,000 rows with 1,000,999 values in a column" in refusal(read(path, "parquet"))


def test_values_of_a_fixed_length_are_spelled_out_a_few_at_a_time(tmp_path: Path) -> None:
    values = pa.DictionaryArray.from_arrays(
        pa.array([0] * 1000, pa.int32()), pa.array([b"x" * 300_000], pa.binary(300_000))
    )
    pq.write_table(
        pa.table({"fixed": values.cast(pa.binary(300_000)).slice(0, 1000)}),
        tmp_path / "a",
        compression="zstd",
    )
    opened = (tmp_path / "a").open("rb")

    sizes = [batch.nbytes for batch in columnar.parquet_batches(opened, 16_000_000)]

    assert max(sizes) < 2 * columnar.BYTES_PER_READ


def test_texts_are_the_same_by_their_dictionary_as_without(tmp_path: Path) -> None:
    rows = [
        {"a": "é", "b": ["x", None, ""], "c": {"d": "y"}, "e": [("k", "v")], "f": b"\x01"},
        {"a": None, "b": None, "c": None, "e": None},
    ]
    kinds = [("a", pa.string()), ("b", pa.list_(pa.string())), ("c", pa.struct([("d", pa.string())]))]
    schema = pa.schema([*kinds, ("e", pa.map_(pa.string(), pa.string())), ("f", pa.binary())])
    found = read(write(tmp_path, "parquet", pa.Table.from_pylist(rows, schema=schema)), "parquet")
    assert found == [
        (1, '{"a": "é", "b": ["x", null, ""], "c": {"d": "y"}, "e": [["k", "v"]], "f": "AQ=="}', None),
        (2, '{"a": null, "b": null, "c": null, "e": null, "f": null}', None),
    ]


def test_a_damaged_page_of_parquet_refuses_the_file_where_its_writer_kept_checksums(tmp_path: Path) -> None:
    path, table = tmp_path / "a.parquet", pa.table({"amount": [7_100 + row for row in range(100)]})
    pq.write_table(
        table,
        path,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )
    assert len(read(path, "parquet")) == 100
    whole, value = path.read_bytes(), (7_142).to_bytes(8, "little")
    assert whole.count(value) == 1
    path.write_bytes(whole.replace(value, (7_143).to_bytes(8, "little")))
    assert "CRC checksum verification failed" in refusal(read(path, "parquet"))


@pytest.mark.parametrize(("file_format", "number_of_rows"), [("parquet", b"\x16\6\x19"), ("orc", b"0\3")])
def test_a_footer_that_says_another_number_of_rows_concerns_its_file_alone(
    tmp_path: Path, file_format: str, number_of_rows: bytes
) -> None:
    path, table = tmp_path / "a", pa.table({"id": [1, 2, 3]})
    if file_format == "parquet":
        pq.write_table(table, path, store_schema=False)
    else:
        orc.write_table(table, str(path), compression="uncompressed")
    before, found, behind = path.read_bytes().rpartition(number_of_rows)
    path.write_bytes(before + found[:1] + b"\x08" + found[2:] + behind)
    said = 4 if file_format == "parquet" else 8
    reason = refusal(read(path, file_format))
    assert reason == f"UnreadableFile: 3 records were read, but it holds {said} by the rows in its footer"


def test_a_footer_whose_columns_do_not_fit_its_schema_does_not_end_the_process(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, None]}), tmp_path / "a", store_schema=False)
    optional, required = b"\x25\2\x18\2id", b"\x25\0\x18\2id"
    whole = (tmp_path / "a").read_bytes()
    assert whole.count(optional) == 1
    (tmp_path / "a").write_bytes(whole.replace(optional, required))
    assert "histogram size mismatch" in refusal(read(tmp_path / "a", "parquet"))


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_file_that_was_put_behind_another_one_does_not_pass_for_both(
    tmp_path: Path, file_format: str
) -> None:
    """Whose rows a reader sees depends on where they lie; those of one file are missing in any case."""
    days = [write(tmp_path, file_format, pa.table({"id": [day, day + 1]})).read_bytes() for day in (10, 20)]
    (tmp_path / "both").write_bytes(b"".join(days))

    assert "several files, one behind the other" in refusal(read(tmp_path / "both", file_format))


@pytest.mark.parametrize("mark", [b"PAR1PAR1", b"ORC.ORC"])
@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_the_marks_of_files_may_be_values(tmp_path: Path, file_format: str, mark: bytes) -> None:
    table = pa.table({"text": [mark.decode()] * 3})
    assert len(read(write(tmp_path, file_format, table), file_format)) == 3


def test_parquet_without_a_column_does_not_end_the_process(tmp_path: Path) -> None:
    """As pandas writes a frame that is empty."""
    pq.write_table(pa.table({}), tmp_path / "a", store_schema=False)
    assert read(tmp_path / "a", "parquet") == []

    no_rows, two_rows = b"\x16\0\x19", b"\x16\4\x19"
    before, _, behind = (tmp_path / "a").read_bytes().partition(no_rows)
    (tmp_path / "a").write_bytes(before + two_rows + behind)
    assert "it has 2 rows and no column" in refusal(read(tmp_path / "a", "parquet"))


def test_to_look_at_what_the_footer_says_of_columns_fetches_none_of_them(tmp_path: Path) -> None:
    table = pa.table({"text": [f"{number:>4000}" for number in range(1_000)]})
    pq.write_table(table, tmp_path / "a", compression="none", use_dictionary=False)
    with Counted(tmp_path / "a") as opened:
        rows = sum(len(batch) for batch in columnar.parquet_batches(io.BufferedReader(opened), 16_000_000))
        assert (rows, opened.fetched // opened.size) == (1_000, 1)


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_small_file_does_not_hold_rows_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    path = write(tmp_path, file_format, pa.table({"id": pa.nulls(1_001, pa.int32())}))
    monkeypatch.setattr(columnar, "MOST_VALUES", 1_000)
    monkeypatch.setattr(columnar, "VALUES_PER_BYTE", 1)
    assert "it says that it has 1,001 rows, in " in refusal(read(path, file_format))


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_columns_may_have_any_name(tmp_path: Path, file_format: str) -> None:
    table = pa.table(
        {"a.b": ["1"], "a b": ["2"], "": ["3"]} if file_format == "parquet" else {"a.b": ["1"], "a b": ["2"]}
    )
    [(_, record, problem)] = read(write(tmp_path, file_format, table), file_format)
    assert str(record).startswith('{"a.b": "1", "a b": "2"')
    assert problem is None


def test_a_time_in_a_zone_that_nobody_knows_is_a_problem_of_its_rows_and_stops_nothing(
    tmp_path: Path,
) -> None:
    table = pa.table({"id": [1, 2], "at": pa.array([0, None], pa.timestamp("us", "Moon/Tranquility"))})
    [(line, record, problem), second] = read(write(tmp_path, "parquet", table), "parquet")
    assert (line, record) == (1, '{"id": 1}')
    assert str(problem).startswith("values that cannot be read: at: ")
    assert second == (2, '{"id": 2, "at": null}', None)


def test_a_column_whose_name_is_no_text_concerns_its_file_alone(tmp_path: Path) -> None:
    path = write(tmp_path, "orc", pa.table({"name_of_it": [1, 2]}))
    path.write_bytes(path.read_bytes().replace(b"name_of_it", b"name\xff_of_i"[:10]))
    assert "UnicodeDecodeError" in refusal(read(path, "orc"))


@pytest.mark.parametrize(
    ("file_format", "said"), [("parquet", "a column is there twice: id"), ("orc", "Multiple matches for")]
)
def test_a_column_that_is_there_twice_refuses_the_file(tmp_path: Path, file_format: str, said: str) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["id", "id"])
    (pq.write_table if file_format == "parquet" else orc.write_table)(table, tmp_path / "a")

    assert said in refusal(read(tmp_path / "a", file_format))


def test_times_of_day_keep_their_nanoseconds(tmp_path: Path) -> None:
    kind = pa.time64("ns")
    nested = {"l": pa.array([[2]], pa.list_(kind)), "s": pa.array([{"u": 3}], pa.struct([("u", kind)]))}
    more = {"m": pa.array([[("k", 4)]], pa.map_(pa.string(), kind)), "f": pa.array([[5]], pa.list_(kind, 1))}
    pq.write_table(pa.table({"t": pa.array([1], kind), **nested, **more}), tmp_path / "a")

    [(_, record, problem)] = read(tmp_path / "a", "parquet")

    said = '{"t": "00:00:00.000000001", "l": ["00:00:00.000000002"], "s": {"u": "00:00:00.000000003"}, '
    assert (record, problem) == (
        said + '"m": [["k", "00:00:00.000000004"]], "f": ["00:00:00.000000005"]}',
        None,
    )


def write_int96(path: Path, times: list[int | None], unit: str) -> Path:
    """Times since 1970 as Spark, Hive and Impala write them."""
    at = pa.array(times, pa.timestamp(unit))
    pq.write_table(
        pa.table({"at": at, "all": [[time] for time in at]}), path, use_deprecated_int96_timestamps=True
    )
    return path


END_OF_TIME = 253_402_214_400


def test_an_old_timestamp_of_any_year_stays_as_it_is(tmp_path: Path) -> None:
    path = write_int96(tmp_path / "a", [END_OF_TIME, None, -11_676_096_000, 0], "s")

    found = read(path, "parquet")

    said = ['"9999-12-31T00:00:00Z"', "null", '"1600-01-01T00:00:00Z"', '"1970-01-01T00:00:00Z"']
    assert found == [(line, f'{{"at": {at}, "all": [{at}]}}', None) for line, at in enumerate(said, 1)]


def test_an_old_timestamp_keeps_its_nanoseconds(tmp_path: Path) -> None:
    [(_, record, problem)] = read(write_int96(tmp_path / "a", [-1], "ns"), "parquet")
    assert (record, problem) == (
        '{"at": "1969-12-31T23:59:59.999999999Z", "all": ["1969-12-31T23:59:59.999999999Z"]}',
        None,
    )


def test_old_timestamps_that_no_one_type_holds_refuse_the_file() -> None:
    nanoseconds, microseconds = (
        pa.RecordBatch.from_arrays([pa.array([time, one], pa.timestamp(unit))], names=["at"])
        for unit, time, one in (("ns", END_OF_TIME * 10**9 - 2**64 * 14, 1), ("us", END_OF_TIME * 10**6, 0))
    )
    with pytest.raises(UnreadableFile, match="beside others with nanoseconds"):
        columnar._whole_times(nanoseconds, microseconds)
