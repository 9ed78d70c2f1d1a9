"""A disk that is full, at many places of a run: it fails and says so, and goes on to the same tables once
there is room.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.run.result import Status
from tests.conftest import Workshop
from tests.faults import shop

pytestmark = pytest.mark.system

KILOBYTE = 1024
FREE = (0, 32, 64, 128, 256, 512, 768, 1024, 2048, 4096)
"""What is left on the disk, run by run. A write that failed leaves a part of its files behind, as on any full
disk.
"""


@pytest.fixture
def small_disk(damaged_shop: Workshop) -> Iterator[Path]:
    """The lake on a disk of its own, on which nothing else is: Spark's own files are elsewhere."""
    lake, aside = damaged_shop.root / "lake", damaged_shop.root / "aside"
    lake.rename(aside)
    lake.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", lake], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"a small disk cannot be made, because only root may mount one: {mount.stderr.strip()}")
    try:
        shutil.copytree(aside, lake, dirs_exist_ok=True)
        yield lake
    finally:
        subprocess.run(["umount", "--lazy", lake], check=True)


def resize(disk: Path, free: int) -> None:
    """Leave so many bytes free."""
    found = os.statvfs(disk)
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    subprocess.run(["mount", "-o", f"remount,size={used + free}", disk], check=True)


def test_a_run_on_a_full_disk_fails_with_its_cause_and_goes_on_when_there_is_room(
    damaged_shop: Workshop, small_disk: Path, expected: dict[str, list[str]]
) -> None:
    messages = []
    for free in FREE:
        resize(small_disk, free * KILOBYTE)
        result = damaged_shop.run("shop")
        if result.status is not Status.FAILED:
            break
        messages.append(result.message)
    assert result.status is Status.OK, result.message
    assert len(messages) > 4
    assert [message for message in messages if "No space left on device" not in message] == []
    assert [message for message in messages if "what is published stays" not in message] == []
    resize(small_disk, 16 * 1024 * KILOBYTE)

    shop.assert_converged(damaged_shop, expected)
