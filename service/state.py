"""What is running, as airflow_home/up.json records it, held against the processes that there really are."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from service.environ import MARKER, airflow_home
from service.keys import ensure_home, write_private
from service.processes import Found, Process, all_processes, boot_id, has_variable, is_running


class ServiceBusy(Exception):
    """Another `up` or `down` of this project is at work."""

    def __init__(self, root: Path) -> None:
        self.root = root
        super().__init__(
            f"another `make up` or `make down` in {root} is at work; wait for it, then try again"
        )


@dataclass(frozen=True)
class Component:
    """One of Airflow's processes: it leads a session of its own, and writes to its log."""

    name: str
    process: Process
    log: Path


@dataclass(frozen=True)
class State:
    """A service that was started, whether or not it still runs."""

    marker: str
    boot: str
    url: str
    since: str
    components: tuple[Component, ...]

    def of(self, name: str) -> Component:
        return next(component for component in self.components if component.name == name)

    def ended(self) -> list[Component]:
        """The components that run no more."""
        return [component for component in self.components if not self._runs(component)]

    def is_up(self) -> bool:
        return len(self.ended()) < len(self.components)

    def processes(self) -> list[Found]:
        """Every process of the service: those that bear its marker, wherever they went, and those in the
        sessions of its components.
        """
        if self.boot != boot_id():
            return []
        sessions = {component.process.pid for component in self.components if is_running(component.process)}
        return [
            found
            for found in all_processes()
            if found.session in sessions or has_variable(found.process, MARKER, self.marker)
        ]

    def _runs(self, component: Component) -> bool:
        return self.boot == boot_id() and is_running(component.process)


def state_file(root: Path) -> Path:
    return airflow_home(root) / "up.json"


def going_down_file(root: Path) -> Path:
    """There while `down` is at work. It has the processes that were asked to end."""
    return airflow_home(root) / "going_down.json"


def read_state(root: Path) -> State | None:
    """What was started last; None when it was ended properly, or the record was cut."""
    try:
        kept = json.loads(state_file(root).read_text(encoding="utf-8"))
        components = tuple(
            Component(part["name"], Process(**part["process"]), Path(part["log"]))
            for part in kept.pop("components")
        )
        return State(components=components, **kept)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def write_state(root: Path, state: State) -> None:
    write_private(state_file(root), json.dumps(asdict(state), indent=2, default=str) + "\n")


@contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Holds the lock of `up` and `down`, or raises ServiceBusy at once. No child inherits it."""
    home = airflow_home(root)
    ensure_home(home)
    with (home / "up.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceBusy(root) from None
        yield
