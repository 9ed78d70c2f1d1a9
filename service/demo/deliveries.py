"""The deliveries of the demo: which have landed, and landing one more. File names carry their numbers, and
the defect if there is one.
"""

import re
from pathlib import Path

from service.demo.weir import weir
from spark_jobs.config import Project

ORDERS = 2_000
DEFECT = "cents"


def land(project: Project, number: int, what: str) -> bool:
    """Lands a delivery of sample files; False when it is there already."""
    if number in landed(project):
        return False
    print(f"\nDelivery {number}: {what}")
    weir(project.root, *_sample(number))
    return True


def land_defective(project: Project, number: int, what: str) -> None:
    """Lands a delivery that is wrong as a whole, unless it is there already."""
    print(f"\nDelivery {number}: {what}")
    if not list(_orders(project).glob(f"orders-{number:04d}-{DEFECT}-*.json")):
        weir(project.root, *_sample(number), "--defect", DEFECT)


def landed(project: Project) -> set[int]:
    """The numbers of the deliveries whose orders have landed as they should be."""
    names = (path.name for path in _orders(project).glob("*.json"))
    return {int(match[1]) for name in names if (match := re.fullmatch(r"orders-(\d+)-\d+\.json", name))}


def _orders(project: Project) -> Path:
    return Path(project.landing, "retail", "orders")


def _sample(number: int) -> tuple[str, ...]:
    return "sample", "--orders", str(ORDERS), "--increment", str(number)
