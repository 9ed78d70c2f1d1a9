"""Damage to a streaming checkpoint: each kind has its error, which names the table, the file and the way out;
the other tables go on.
"""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.lake.checkpoints import Checkpoint, CheckpointDamaged, CheckpointLost, check_checkpoint
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import State, Status
from tests.conftest import PROFILE, ROOT, Workshop
from tests.faults import shop
from tests.faults.conftest import Undisturbed

pytestmark = pytest.mark.spark

LAST = 1
"""The last batch of silver.orders after two deliveries, each a batch."""


def cut(file: Path) -> None:
    """As a full disk or a lost write leaves it: its first half, its checksum gone with the rest."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    file.with_name(f".{file.name}.crc").unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")
    file.with_name(f".{file.name}.crc").unlink()


def fill_with_zeros(file: Path) -> None:
    """As some file systems leave a file after power was lost."""
    file.write_bytes(bytes(file.stat().st_size))


def change_a_digit(file: Path) -> None:
    """Still what Spark could have written, but for its checksum."""
    text = file.read_text()
    file.write_text(text.replace("0", "7", 1))


def remove(file: Path) -> None:
    file.unlink()


def break_checksum(file: Path) -> None:
    file.with_name(f".{file.name}.crc").write_bytes(struct.pack(">4si", b"crc\0", 512) + bytes(4))


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "offsets cut": (f"offsets/{LAST}", cut),
    "offsets empty": (f"offsets/{LAST}", empty),
    "offsets zeros": (f"offsets/{LAST}", fill_with_zeros),
    "offsets changed": (f"offsets/{LAST}", change_a_digit),
    "offsets missing": (f"offsets/{LAST}", remove),
    "offsets before the last cut": (f"offsets/{LAST - 1}", cut),
    "offsets before the last missing": (f"offsets/{LAST - 1}", remove),
    "checksum of offsets": (f"offsets/{LAST}", break_checksum),
    "commits cut": (f"commits/{LAST}", cut),
    "commits empty": (f"commits/{LAST}", empty),
    "commits zeros": (f"commits/{LAST}", fill_with_zeros),
    "commits changed": (f"commits/{LAST}", change_a_digit),
    "metadata missing": ("metadata", remove),
    "metadata cut": ("metadata", cut),
    "metadata zeros": ("metadata", fill_with_zeros),
}


@pytest.fixture
def checkpoint(undisturbed: Undisturbed, tmp_path: Path) -> Path:
    """That of silver.orders after two batches."""
    copy = tmp_path / "g1"
    shutil.copytree(undisturbed.workshop.root / "lake/shop/_weir/checkpoints/silver.orders/g1", copy)
    return copy


def test_every_file_of_a_checkpoint_is_of_a_kind_that_is_tried_here(undisturbed: Undisturbed) -> None:
    """Delta's sources keep nothing of their own below `sources`, and our queries have no state."""
    folder = undisturbed.workshop.root / "lake/shop/_weir/checkpoints"
    files = [
        file.relative_to(folder) for file in folder.rglob("*") if file.is_file() and file.suffix != ".crc"
    ]
    kinds = {"/".join(file.parts[2:-1]) or file.name for file in files}

    assert (
        kinds
        == {"metadata", "offsets", "commits"}
        == {name.partition("/")[0] for name, _ in DAMAGES.values()}
    )


def test_a_whole_checkpoint_passes_and_so_does_one_whose_last_commit_was_not_written(
    checkpoint: Path,
) -> None:
    check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), LAST)
    for file in ("commits/1", "commits/.1.crc"):
        (checkpoint / file).unlink()
    check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), LAST)
    shutil.rmtree(checkpoint / "commits")
    check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), LAST)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_with_the_way_out(checkpoint: Path, damage: str) -> None:
    name, break_it = DAMAGES[damage]
    break_it(checkpoint / name)

    with pytest.raises(CheckpointDamaged) as found:
        check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), LAST)

    assert (found.value.table, found.value.file) == ("silver.orders", str(checkpoint / name))
    assert f"{checkpoint / name} of its checkpoint is damaged" in str(found.value)
    assert "run `weir rebuild` for silver.orders" in str(found.value)


def test_a_checkpoint_of_another_time_than_the_ledger_is_refused(checkpoint: Path) -> None:
    with pytest.raises(
        CheckpointLost,
        match=r"has ended batch 1, but the ledger knows batch 0; restore the pipeline's folder as a whole",
    ):
        check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), LAST - 1)
    with pytest.raises(CheckpointLost, match="has ended batch 1, but the ledger knows no batch of it"):
        check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), None)
    for file in ("offsets/1", "offsets/.1.crc", "commits/1", "commits/.1.crc"):
        (checkpoint / file).unlink()
    with pytest.raises(CheckpointLost, match="ends at batch 0, but the ledger knows batch 1"):
        check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), LAST)
    shutil.rmtree(checkpoint)
    with pytest.raises(CheckpointLost, match="is gone, but the ledger knows batch 1"):
        check_checkpoint(Checkpoint("silver.orders", str(checkpoint)), LAST)
    with pytest.raises(CheckpointLost, match="or load into a new lake"):
        check_checkpoint(Checkpoint("bronze.orders", str(checkpoint)), LAST)


def test_every_error_has_its_entry_in_the_runbook() -> None:
    runbook = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")

    assert "### CheckpointLost: " in runbook
    assert "### CheckpointDamaged: " in runbook


def test_only_damaged_tables_fail_and_a_rebuild_brings_them_back(
    damaged_shop: Workshop, expected: dict[str, list[str]]
) -> None:
    checkpoints = damaged_shop.root / "lake/shop/_weir/checkpoints"
    cut(checkpoints / "silver.orders/g1/offsets/0")
    shutil.rmtree(checkpoints / "gold.closed")

    failed = damaged_shop.run("shop")

    assert failed.status is Status.FAILED
    assert "silver.orders failed (and 1 more table): CheckpointDamaged: silver.orders: " in failed.message
    states = {run.table: run.state for run in failed.tables}
    assert {table for table, state in states.items() if state is State.FAILED} == {
        "silver.orders",
        "gold.closed",
    }
    assert {table for table, state in states.items() if state is State.NOT_REACHED} == {"gold.per_hour"}
    [lost] = [run.error for run in failed.tables if run.table == "gold.closed"]
    assert "CheckpointLost: gold.closed: " in str(lost)

    mended = rebuild_tables(
        damaged_shop.project, "shop", PROFILE, ["silver.orders", "gold.closed"], start=damaged_shop._start
    )

    assert mended.status is Status.OK, mended.message
    assert damaged_shop.run("shop").status in (Status.OK, Status.NOTHING_TO_DO)
    shop.assert_converged(damaged_shop, expected)
