"""Import directions. Stages meet in tables, not in imports; what Airflow's side reads needs no Spark.

To extend: add a Rule, or a package to one. A folder that is not there yet has nothing to break.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPARK = ("pyspark", "delta", "deltalake", "great_expectations")


@dataclass(frozen=True)
class Rule:
    """No file below `folder` imports a module of `never`, except those of `but`."""

    folder: str
    never: tuple[str, ...]
    but: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.folder} without {' '.join(self.never)}"


def stage(name: str) -> Rule:
    others = tuple(f"spark_jobs.{other}" for other in ("bronze", "silver", "gold") if other != name)
    return Rule(f"spark_jobs/{name}", (*others, "spark_jobs.cli"))


RULES = [
    Rule("spark_jobs/config", (*SPARK, "spark_jobs"), but=("spark_jobs.config",)),
    Rule("spark_jobs/sample", (*SPARK, "spark_jobs"), but=("spark_jobs.sample",)),
    Rule("service", (*SPARK, "spark_jobs"), but=("spark_jobs.config",)),
    Rule("dags", (*SPARK, "sqlglot", "spark_jobs"), but=("spark_jobs.config",)),
    # Its pages look like the reports, and say times and states in the same words; these modules import
    # nothing.
    Rule(
        "plugins",
        (*SPARK, "sqlglot", "spark_jobs"),
        but=("spark_jobs.config", "spark_jobs.report.text", "spark_jobs.report.text"),
    ),
    stage("bronze"),
    stage("silver"),
    stage("gold"),
    # What leaves the lake is read from tables: a sink knows no stage before it, and none knows a sink.
    Rule(
        "spark_jobs/sinks", ("spark_jobs",), but=("spark_jobs.config", "spark_jobs.lake", "spark_jobs.sinks")
    ),
    # Rules know rows and Great Expectations; where rows come from and go to is for others to say.
    Rule(
        "spark_jobs/quality",
        ("spark_jobs",),
        but=("spark_jobs.config", "spark_jobs.lake", "spark_jobs.quality"),
    ),
    Rule(
        "spark_jobs/landing", ("spark_jobs.bronze", "spark_jobs.silver", "spark_jobs.gold", "spark_jobs.cli")
    ),
    # A verification shares with the engine what reads a landed file, decodes one row and judges it by a rule,
    # the user's own SQL and Python, and the reading of tables: no more.
    Rule(
        "spark_jobs/verify",
        ("spark_jobs",),
        but=(
            "spark_jobs.config",
            "spark_jobs.lake.delta_log.count_rows",
            "spark_jobs.lake.delta_log.table_bytes",
            "spark_jobs.lake.delta_log.table_version",
            "spark_jobs.lake.layout",
            "spark_jobs.lake.lease",
            "spark_jobs.lake.ledger.Ledger",
            "spark_jobs.lake.tables.read",
            "spark_jobs.lake.verdicts",
            "spark_jobs.session",
            "spark_jobs.silver.decode",
            "spark_jobs.silver.decoding",
            "spark_jobs.silver.failed_rules",
            "spark_jobs.gold.functions",
            *("spark_jobs.bronze.arrived", "spark_jobs.bronze.records", "spark_jobs.landing"),
            *("spark_jobs.lake.scan.scan_pieces", "spark_jobs.lake.storage.StorageFailed"),
            "spark_jobs.failure",
            "spark_jobs.verify",
        ),
    ),
    # A report is made where no Spark is: from the ledger and the logs.
    Rule(
        "spark_jobs/report",
        (*SPARK, "spark_jobs"),
        but=(
            "spark_jobs.__version__",
            "spark_jobs.config",
            *(
                "spark_jobs.lake.blocked",
                "spark_jobs.lake.counts",
                "spark_jobs.lake.states",
                "spark_jobs.lake.counts",
            ),
            "spark_jobs.lake.counts",
            "spark_jobs.lake.delta_log",
            "spark_jobs.lake.blocked",
            "spark_jobs.lake.layout",
            "spark_jobs.lake.lease.holder_of",
            "spark_jobs.lake.ledger.Ledger",
            "spark_jobs.lake.quarantine",
            "spark_jobs.lake.scan",
            "spark_jobs.lake.sequence",
            "spark_jobs.landing",
            "spark_jobs.lake.balance",
            "spark_jobs.quality.masking",
            "spark_jobs.report",
        ),
    ),
    Rule("spark_jobs/operations", ("pyspark", "spark_jobs.cli", "spark_jobs.report")),
    Rule(
        "spark_jobs/lake",
        (
            "spark_jobs.landing",
            "spark_jobs.bronze",
            "spark_jobs.silver",
            "spark_jobs.gold",
            "spark_jobs.sinks",
            "spark_jobs.cli",
        ),
    ),
]
STAGES = ("bronze", "config", "failure", "gold", "lake", "landing", "session", "silver")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "bronze": ("config", "lake", "landing"),
    "cli": (
        *("config", "doctor", "failure", "lake", "landing", "look", "operations", "quality"),
        *("report", "run", "sample", "session", "stream", "verify"),
    ),
    "config": (),
    "doctor": ("config", "failure", "lake", "landing", "operations", "run", "session"),
    "failure": ("config", "session"),
    "gold": ("config", "lake"),
    "lake": ("config",),
    "landing": ("config", "lake"),
    "look": ("config", "lake", "quality"),
    "operations": ("bronze", "config", "lake", "landing", "quality", "run"),
    "quality": ("config", "lake"),
    "report": ("config", "lake", "landing", "quality"),
    "run": (*STAGES, "quality", "report", "sinks", "verify"),
    "sample": (),
    "session": ("config",),
    "silver": ("config", "lake", "quality"),
    "sinks": ("config", "lake"),
    "stream": ("config", "failure", "lake", "landing", "run", "session", "sinks"),
    "testkit": ("config", "gold"),
    "verify": STAGES,
}
"""The other packages that a package may import, and imports; docs/architecture.md has the same."""
ARCHITECTURE = ROOT / "docs" / "architecture.md"
TABLE_ACCESS = ("spark_jobs/lake", "spark_jobs/landing")  # the only packages that read and write Delta tables


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_imports_go_in_one_direction(rule: Rule) -> None:
    assert [
        f"{place}: imports {module}"
        for place, module in imports_below(ROOT / rule.folder)
        if breaks(rule, module)
    ] == []


def test_tables_are_read_and_written_in_one_place() -> None:
    rule = Rule("spark_jobs", ("delta", "deltalake"))
    elsewhere = [
        folder
        for folder in (ROOT / "spark_jobs").iterdir()
        if folder.relative_to(ROOT).as_posix() not in TABLE_ACCESS
    ]
    by_import = [
        f"{place}: imports {module}"
        for folder in elsewhere
        for place, module in imports_below(folder)
        if breaks(rule, module)
    ]
    by_format = [place for folder in elsewhere for place in delta_formats_below(folder)]

    assert by_import + by_format == []


def test_packages_form_no_cycle() -> None:
    assert find_cycle(package_imports(ROOT / "spark_jobs")) == []


def test_packages_import_what_they_may_and_no_others() -> None:
    found = package_imports(ROOT / "spark_jobs")

    assert {package: sorted(others) for package, others in found.items()} == {
        package: sorted(others) for package, others in MAY_IMPORT.items()
    }


def test_the_map_names_every_package_with_what_it_may_import() -> None:
    assert table_of_packages(ARCHITECTURE.read_text(encoding="utf-8")) == {
        package: set(others) for package, others in MAY_IMPORT.items()
    }


def test_a_package_is_read_from_the_map() -> None:
    heading = "## Packages\n\n| package | enters | leaves | may import |\n|---|---|---|---|\n"
    page = f"{heading}| `gold` | `a` | b | `config`, `lake` |\n| `sample` | | | nothing |\n"

    assert table_of_packages(page + "\n## Other\n\n| `x` | | | `y` |\n") == {
        "gold": {"config", "lake"},
        "sample": set(),
    }


def test_a_cycle_is_found_also_where_an_import_stands_in_a_function(tmp_path: Path) -> None:
    modules = {
        "run/run.py": "from spark_jobs.report import write\n",
        "report/write.py": "def late():\n    import spark_jobs.lake.ledger\n",
    }
    modules["lake/ledger.py"] = "import json\nfrom spark_jobs.lake import layout\n"
    for name, text in modules.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert find_cycle(package_imports(tmp_path)) == []

    (tmp_path / "lake/ledger.py").write_text(
        "def late():\n    from spark_jobs import run\n", encoding="utf-8"
    )

    assert find_cycle(package_imports(tmp_path)) == ["lake", "run", "report", "lake"]


def test_a_forbidden_import_is_found_wherever_it_stands(tmp_path: Path) -> None:
    top, late = (
        "import os\nimport spark_jobs.config.names\n",
        "    from pyspark.sql import functions\n    from spark_jobs import bronze\n",
    )
    (tmp_path / "module.py").write_text(f"{top}def late():\n{late}", encoding="utf-8")
    rule = Rule("anywhere", ("pyspark", "spark_jobs"), but=("spark_jobs.config",))

    found = [module for _, module in imports_below(tmp_path) if breaks(rule, module)]

    assert found == ["pyspark.sql.functions", "spark_jobs.bronze"]


def test_a_delta_reader_is_found(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        'spark.read.format("json")\nspark.read.format("delta").load(path)\n', encoding="utf-8"
    )

    assert [place.rpartition(":")[2] for place in delta_formats_below(tmp_path)] == ["2"]


def breaks(rule: Rule, module: str) -> bool:
    return within(module, rule.never) and not within(module, rule.but)


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def table_of_packages(page: str) -> dict[str, set[str]]:
    """The first and the last column of the table below the heading Packages."""
    section = page.partition("## Packages\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): set(re.findall(r"`([a-z]+)`", row[-1])) for row in rows}


def package_imports(folder: Path) -> dict[str, set[str]]:
    """Per package or module directly below a folder, the others that it imports: at the top of a file, or
    within a function.
    """
    found: dict[str, set[str]] = {}
    names = {path.stem for path in folder.iterdir()}
    for part in sorted(folder.iterdir()):
        if part.is_dir() or part.suffix == ".py":
            modules = (module.split(".") for _, module in imports_below(part))
            others = {
                parts[1]
                for parts in modules
                if parts[0] == "spark_jobs" and len(parts) > 1 and parts[1] in names
            }
            if not part.stem.startswith("__"):
                found[part.stem] = others - {part.stem}
    return found


def find_cycle(imports: Mapping[str, Collection[str]]) -> list[str]:
    """The packages of one cycle, from its first to its first, or none."""

    def follow(way: list[str]) -> list[str]:
        if way[-1] in way[:-1]:
            return way if way[-1] == way[0] else []
        return next(
            (found for other in sorted(imports.get(way[-1], ())) if (found := follow([*way, other]))), []
        )

    return next((found for package in sorted(imports) if (found := follow([package]))), [])


def imports_below(folder: Path) -> Iterator[tuple[str, str]]:
    """Every import as (file:line, module); `from a import b` counts as a.b, which may be a module."""
    for place, node in nodes_below(folder):
        if isinstance(node, ast.Import):
            yield from ((place, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((place, f"{node.module}.{alias.name}") for alias in node.names)


def delta_formats_below(folder: Path) -> Iterator[str]:
    for place, node in nodes_below(folder):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            yield from (
                place
                for argument in node.args
                if isinstance(argument, ast.Constant) and argument.value == "delta"
            )


def nodes_below(folder: Path) -> Iterator[tuple[str, ast.AST]]:
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield f"{name}:{getattr(node, 'lineno', 0)}", node
