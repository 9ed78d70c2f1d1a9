"""Writes a delivery into the landing zone: JSON lines and CSV files of at most 50,000 lines, each renamed
into place when it is whole.
"""

import filecmp
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from spark_jobs.sample import clicks, customers, order_text, orders, products
from spark_jobs.sample.delivery import Delivery, FileTask, FileText, SampleSummary

LINES_PER_FILE = 50_000
BIG_DELIVERY = 10  # files from which further processes are worth their start

Made = tuple[str, int, int, Counter[str]]  # path, bytes, records, kinds

_MAKERS: dict[str, Callable[[Delivery, int, int], FileText]] = {
    "orders": order_text.order_file,
    "customers-members": customers.member_file,
    "customers-changes": customers.change_file,
    "products-members": products.member_file,
    "products-changes": products.change_file,
    "clicks": clicks.click_file,
}
_PLACES = {
    "customers": ("retail/customers", "csv"),
    "products": ("retail/products", "csv"),
    "orders": ("retail/orders", "json"),
    "clicks": ("clickstream/clicks", "json"),
}


def write_sample(
    landing: Path,
    orders: int = 1000,
    seed: int = 7,
    increment: int = 0,
    defect: str | None = None,
    on_file: Callable[[Path], None] | None = None,
    processes: int | None = None,
) -> SampleSummary:
    """Writes the first load (increment 0) or a later increment. Same arguments, same bytes, whatever the
    number of processes.

    With a defect it is orders alone, in files of other names, so that the same increment without it is the
    delivery that puts them right.
    """
    tasks = list(_tasks(Delivery(orders, seed, increment, defect)))
    writing = landing / f".writing-{os.getpid()}"
    writing.mkdir(parents=True, exist_ok=True)
    try:
        made = []
        for one in _run(
            tasks, landing, writing, processes or (1 if len(tasks) < BIG_DELIVERY else os.cpu_count() or 1)
        ):
            made.append(one)
            if on_file is not None:
                on_file(landing / one[0])
    finally:
        shutil.rmtree(writing, ignore_errors=True)
    return _summary(landing, made)


def write_file(task: FileTask, landing: Path, writing: Path) -> Made:
    """Writes one file aside and renames it into place; a file that already holds these
    bytes keeps its time.
    """
    file = _MAKERS[task.part](task.delivery, task.start, task.stop)
    target, aside = landing / task.path, writing / task.path.replace("/", "-")
    aside.write_text(file.text, encoding="utf-8", newline="\n")
    size = aside.stat().st_size
    target.parent.mkdir(parents=True, exist_ok=True)
    if not (target.exists() and filecmp.cmp(aside, target, shallow=False)):
        aside.replace(target)
    return task.path, size, file.records, file.kinds


def _tasks(delivery: Delivery) -> Iterator[FileTask]:
    """Dimensions before facts, as a shop would send them; of a defective delivery only the orders, which have
    the defect.
    """
    first = delivery.increment == 0
    lines = {
        "customers-members": delivery.customers if first else 0,
        "customers-changes": customers.change_count(delivery),
        "products-members": delivery.products if first else 0,
        "products-changes": products.change_count(delivery),
        "orders": orders.line_count(delivery),
        "clicks": delivery.clicks,
    }
    for part in ["orders"] if delivery.defect else lines:
        yield from _files(delivery, part, lines[part])


def _files(delivery: Delivery, part: str, lines: int) -> Iterator[FileTask]:
    folder, ending = _PLACES[part.partition("-")[0]]
    name = "-".join([part, f"{delivery.increment:04d}", *([delivery.defect] if delivery.defect else [])])
    for number, start in enumerate(range(0, lines, LINES_PER_FILE)):
        path = f"{folder}/{name}-{number:05d}.{ending}"
        yield FileTask(delivery, part, path, start, min(start + LINES_PER_FILE, lines))


def _run(tasks: list[FileTask], landing: Path, writing: Path, processes: int) -> Iterator[Made]:
    if processes == 1:
        yield from (write_file(task, landing, writing) for task in tasks)
        return
    with ProcessPoolExecutor(min(processes, len(tasks)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(write_file, tasks, [landing] * len(tasks), [writing] * len(tasks))


def _summary(landing: Path, made: list[Made]) -> SampleSummary:
    records: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for path, _, count, file_kinds in made:
        folder = path.rpartition("/")[0]
        records[folder] += count
        kinds.update({f"{folder.rpartition('/')[2]}.{kind}": number for kind, number in file_kinds.items()})
    files = tuple(landing / path for path, *_ in made)
    return SampleSummary(files, sum(size for _, size, *_ in made), dict(records), dict(sorted(kinds.items())))
