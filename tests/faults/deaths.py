"""Processes that die at named points, one after the other on one lake: which point each dies at, and what the
lake came to.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field

from spark_jobs.lake import failpoints
from spark_jobs.run.result import RunResult, Status
from tests.conftest import Workshop
from tests.faults import shop

Point = tuple[str, str, str]
"""A failpoint, its table, and the step that the table is in."""
ENDS = (Status.OK, Status.NOTHING_TO_DO)


def itself(point: Point) -> Hashable:
    return point


@dataclass
class Deaths:
    """Dies once at all points that are `alike`, in the order in which commands come to them. `passes` says
    which ones are passed.
    """

    alike: Callable[[Point], Hashable] = itself
    passes: Callable[[Point], bool] = lambda point: False
    points: list[Point] = field(default_factory=list)

    @property
    def kinds(self) -> set[Hashable]:
        return set(map(self.alike, self.points))

    @property
    def names(self) -> set[str]:
        return {name for name, _, _ in self.points}

    def decide(self, *point: str) -> failpoints.Action | None:
        name, table, step = point
        reached = (name, table, step)
        if self.passes(reached) or self.alike(reached) in self.kinds:
            return None
        self.points.append(reached)
        return "raise"

    def until_none(self, command: Callable[[], RunResult], ends: Collection[Status] = ENDS) -> RunResult:
        """The command again and again, each time dying a point further than before, until it comes to its
        end.
        """
        while True:
            count = len(self.points)
            with failpoints.deciding(self.decide):
                result = command()
            if len(self.points) == count:
                assert result.status in ends, result.message
                return result
            assert result.status is Status.FAILED, result.message
            # the one it died at, or one that the dead did not pass either
            assert "Failpoint: " in result.message

    def run_until_none(self, workshop: Workshop, pipeline: str = "shop") -> None:
        self.until_none(lambda: shop.run_in_order(workshop, pipeline))
