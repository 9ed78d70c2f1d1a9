"""The processes of this machine, as Linux tells of them in /proc. One that has ended and waits to be
collected counts as ended.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process by what no other can share: a number may be given again, but not with the same start (in
    ticks since the boot).
    """

    pid: int
    started: int


@dataclass(frozen=True)
class Found:
    """A process that works, and where it belongs."""

    process: Process
    parent: int
    group: int
    session: int


def boot_id() -> str:
    """Another one after every boot: what was recorded before it runs no more."""
    return (PROC / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()


def find_process(pid: int) -> Found | None:
    """The process that has this number now; None when there is none or it has ended."""
    try:
        # The name, in brackets, may hold anything; what follows the last bracket is plain: state, parent,
        # group, session … start
        fields = (
            (PROC / str(pid) / "stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except (FileNotFoundError, ProcessLookupError):
        return None
    parent, group, session, started = (int(fields[place]) for place in (1, 2, 3, 19))
    return None if fields[0] in "ZX" else Found(Process(pid, started), parent, group, session)


def is_running(process: Process) -> bool:
    found = find_process(process.pid)
    return found is not None and found.process == process


def all_processes() -> Iterator[Found]:
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (found := find_process(int(folder.name))):
            yield found


def has_variable(process: Process, name: str, value: str) -> bool:
    """Whether the process was started with this variable."""
    return variable_of(process, name) == value


def variable_of(process: Process, name: str) -> str | None:
    """A variable with which the process was started. Those of other users cannot be asked, and are none of
    ours.
    """
    lines = _read(process, "environ").split(b"\0")
    return next(
        (
            line.partition(b"=")[2].decode(errors="replace")
            for line in lines
            if line.startswith(f"{name}=".encode())
        ),
        None,
    )


def arguments_of(process: Process) -> list[str]:
    """What the process was started with; nothing when it has ended."""
    return _read(process, "cmdline").decode(errors="replace").split("\0")[:-1]


def _read(process: Process, file: str) -> bytes:
    try:
        return (PROC / str(process.pid) / file).read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
