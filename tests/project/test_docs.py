"""The documentation says what the code does: every key, column, exit code and error has its place, links lead
somewhere, examples work.
"""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from typer.core import TyperGroup
from typer.main import get_command

from spark_jobs.bronze.ingest import BRONZE_DDL
from spark_jobs.cli.app import app
from spark_jobs.cli.check import every_problem
from spark_jobs.config import connections, gold, lookups, relays, silver, sinks, sources
from spark_jobs.config import expectation_types as own_types
from spark_jobs.config import expectations as rules
from spark_jobs.config import pipeline as models
from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.document import read_document
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.names import READABLE, Model
from spark_jobs.gold.late import LATE_DDL
from spark_jobs.lake.layout import SIDES, Lake
from spark_jobs.lake.ledger_schemas import SCHEMAS
from spark_jobs.landing.arrivals_schema import ARRIVALS
from spark_jobs.run.result import EXIT_CODES
from spark_jobs.silver.fact_table import ORIGIN_DDL, SEEN_DDL, SET_ASIDE_DDL, TAGS_DDL
from tests.conftest import Workshop

ROOT = Path(__file__).resolve().parents[2]
README, REFERENCE, RULES_PAGE = (
    ROOT / "README.md",
    ROOT / "docs" / "pipeline-file.md",
    ROOT / "docs" / "expectations.md",
)
GLOSSARY = ROOT / "docs" / "glossary.md"
TABLES_PAGE, OPERATIONS = ROOT / "docs" / "tables.md", ROOT / "docs" / "operations.md"
PAGES = sorted([README, ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])

SECTIONS: dict[str, type[BaseModel]] = {
    "Pipeline": models.Pipeline,
    "Schedule on tables": models.TableSchedule,
    "Notify": models.Notify,
    "Files": sources.FileSource,
    "Kafka": sources.KafkaSource,
    "Delta": sources.DeltaSource,
    "Rate": sources.RateSource,
    "Socket": sources.SocketSource,
    "Column": silver.Column,
    "Dimension": silver.Dimension,
    "Silver": silver.Silver,
    "Snapshot": silver.Snapshot,
    "Event time": silver.EventTime,
    "Lookup": lookups.Lookup,
    "Gold": gold.Gold,
    "Window": gold.Window,
    "Dedup": gold.Dedup,
    "Join": gold.Join,
    "Side of a join": gold.JoinSide,
    "Within": gold.Within,
    "Files of a sink": sinks.FileSink,
    "Kafka sink": sinks.KafkaSink,
    "JDBC sink": sinks.JdbcSink,
    "Python sink": sinks.PythonSink,
    "Console sink": sinks.ConsoleSink,
    "Memory sink": sinks.MemorySink,
    "Relay": relays.Relay,
    "Target of a relay": relays.RelayTarget,
    "Connections": connections.Entry,
}
RULE_SECTIONS: dict[str, type[BaseModel]] = {
    "Expectation file": rules.Expectations,
    "Expectation": rules.Expectation,
    "Rows as in earlier batches": own_types.RowCountHistory,
    "A recent maximum": own_types.RecentMaximum,
    "Members of another table": own_types.OtherTableMembers,
    "Sums as in another table": own_types.OtherTableSum,
}
SECTIONS_OF = [(REFERENCE, title, model) for title, model in SECTIONS.items()]
SECTIONS_OF += [(RULES_PAGE, title, model) for title, model in RULE_SECTIONS.items()]
# Errors of the sample's answers and of plain decoding, and those that reach nobody: they become problems of a
# ConfigError, or are its base.
UNSEEN_ERRORS = {
    "_TooLong",
    "Hinted",
    "NoSuchVersion",
    "NotInsertable",
    "Refused",
    "LookupRing",
    "Ring",
    "ConflictError",
    "MisfitError",
    "SqlError",
    "RunsOnCluster",
    "NotPlain",
    "SetAside",
}
UNSEEN_ERRORS |= {"BrokenRecordError", "UnsureRecordError"}


def test_every_model_of_a_file_has_a_section() -> None:
    assert set(models_of_files()) == {*SECTIONS.values(), *RULE_SECTIONS.values()}


@pytest.mark.parametrize(("page", "title", "model"), SECTIONS_OF, ids=[title for _, title, _ in SECTIONS_OF])
def test_the_reference_lists_exactly_the_keys_of_a_model(
    page: Path, title: str, model: type[BaseModel]
) -> None:
    rows = reference_rows(page.read_text(encoding="utf-8"), title)

    assert list(rows) == [field.alias or name for name, field in model.model_fields.items()]


@pytest.mark.parametrize(("page", "title", "model"), SECTIONS_OF, ids=[title for _, title, _ in SECTIONS_OF])
def test_the_reference_gives_each_key_its_default_and_an_example_that_is_accepted(
    page: Path, title: str, model: type[BaseModel], tmp_path: Path
) -> None:
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for key, (default, example) in reference_rows(page.read_text(encoding="utf-8"), title).items():
        field = fields[key]
        assert (default == "*required*") == field.is_required(), f"{title}: {key}"
        if default.startswith("`"):
            assert default == f"`{str(field.default).lower()}`", f"{title}: {key}"
        written = read_yaml(example, tmp_path)
        assert list(written) == [key], f"{title}: the example of {key} is {example}"
        assert problems_of(model, written, key) == []


def test_the_tables_page_names_every_place_of_a_lake() -> None:
    tree = TABLES_PAGE.read_text(encoding="utf-8").partition("<lake>/<pipeline>/\n")[2].partition("```")[0]
    lake = Lake("<lake>", "<pipeline>")
    places = [
        lake.arrivals("<source>"),
        lake.ledgers,
        lake.lease(),
        lake.stream_lease(),
        lake.stage,
        lake.submitted,
        lake.checkpoints,
    ]
    layers = [lake.table(f"{layer}.<") for layer in ("bronze", *READABLE)] + [
        f"<lake>/<pipeline>/{side}/" for side in SIDES
    ]
    ledger = re.search(r"^  _weir/ledger/ +(.+)$", tree, re.MULTILINE)

    assert [
        place
        for place in (*places, *layers)
        if f"\n  {place.removeprefix('<lake>/<pipeline>/')}" not in f"\n{tree}"
    ] == []
    assert len(re.findall(r"^  \w", tree, re.MULTILINE)) == len(places) + len(layers), "and no others"
    assert ledger
    assert sorted(ledger[1].split(", ")) == sorted(SCHEMAS)


def test_only_the_layout_says_where_things_of_a_lake_are() -> None:
    """Else the page and its test would not know of them."""
    sources = {
        file: ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / "spark_jobs").rglob("*.py")
    }
    texts = [
        (file.name, node.value)
        for file, tree in sources.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
    ]

    assert {
        name
        for name, text in texts
        if isinstance(text, str) and re.search(r"/_weir\b(?!.*\n)", text) and " " not in text
    } == {"layout.py"}


def test_a_key_without_a_line_in_the_reference_is_found() -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    shorter = "\n".join(line for line in page.splitlines() if not line.startswith("| `files_per_batch`"))

    assert "files_per_batch" in reference_rows(page, "Files")
    assert "files_per_batch" not in reference_rows(shorter, "Files")


@pytest.mark.parametrize("page", [README, REFERENCE, RULES_PAGE], ids=lambda page: page.name)
def test_every_pipeline_in_the_documentation_passes_the_check(page: Path, tmp_path: Path) -> None:
    blocks = pipeline_blocks(page)
    assert blocks, f"{page.name} shows no pipeline"
    for number, block in enumerate(blocks):
        root = tmp_path / str(number)
        write_pipeline(root, block)
        assert [str(problem) for problem in check_folder(root, {})] == []


def test_every_expectation_file_in_the_documentation_passes_the_check(tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```yaml\n# (expectations/\S+)\n(.*?)^```$",
        RULES_PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert len(blocks) > len(own_types.OWN)
    for number, (file, text) in enumerate(blocks):
        assert problems_beside_the_pages_pipeline(tmp_path / str(number), file, text) == []


def test_the_documentation_shows_each_type_that_sets_rows_aside_with_arguments_that_pass_the_check(
    tmp_path: Path,
) -> None:
    section = (
        RULES_PAGE.read_text(encoding="utf-8")
        .partition("\n## Types that can set rows aside\n")[2]
        .partition("\n## ")[0]
    )
    shown = re.findall(r"^\| `(\w+)` \| .+ \| .+ \| `(.+)` \|$", section, re.MULTILINE)
    names = [f"rule_{number}" for number in range(len(shown))]
    lines = [
        f"{{type: {kind}, kwargs: {kwargs}, on_fail: quarantine, reason: It must be so.}}"
        for kind, kwargs in shown
    ]
    text = "expectations:\n" + "".join(f"  {name}: {line}\n" for name, line in zip(names, lines, strict=True))

    assert [kind for kind, _ in shown] == list(own_types.COMPILED)
    assert (
        problems_beside_the_pages_pipeline(tmp_path, "expectations/billing/silver.invoices.yml", text) == []
    )


def test_the_pipeline_in_the_readme_is_taken_from_the_shipped_one(tmp_path: Path) -> None:
    shown = next(
        read_yaml(block, tmp_path)
        for block in pipeline_blocks(README)
        if block.startswith("pipeline: retail\n")
    )
    shipped = read_document(ROOT / "conf" / "pipelines" / "retail.yml", "retail.yml").data

    assert list(differing_keys(shown, shipped)) == []


def test_the_five_steps_need_under_15_lines_of_yaml() -> None:
    assert len(five_steps_pipeline().strip().splitlines()) < 15


@pytest.mark.spark
def test_the_five_steps_of_the_readme_give_the_result_that_it_shows(workshop: Workshop) -> None:
    readme = README.read_text(encoding="utf-8")
    for path, text in re.findall(
        r"^cat > (landing/\S+) <<'EOF'\n(.*?\n)EOF$", readme, re.MULTILINE | re.DOTALL
    ):
        workshop.write(path, text)
    workshop.write("conf/pipelines/power.yml", five_steps_pipeline())

    result = workshop.run("power")

    assert result.exit_code == 0, result.message
    hours = workshop.rows(
        "power.gold.kwh_per_hour", "window_start", "window_end", "district", "reading_count", "kwh"
    )
    shown = [
        " ".join([str(start), str(end), district, str(count), str(kwh)])
        for start, end, district, count, kwh in hours
    ]
    assert len(shown) == 2
    assert [line for line in shown if line not in re.sub(r" +", " ", readme)] == []
    [(record, reasons)] = workshop.rows("power.quarantine.silver.readings", "record", "reasons")
    assert '"reading_id": "4"' in record
    assert str(reasons) in readme


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), f"{target} is not there"
        if anchor:
            assert anchor in anchors(file), f"{target}: there is no such heading"


def test_the_glossary_names_places_that_are_there() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE
    )
    places = {word: re.findall(r"`(spark_jobs/[\w/.]+)`", code) for word, code in rows[1:] if word != "---"}

    assert len(places) >= 25
    assert [
        word for word, named in places.items() if not named or not all((ROOT / one).exists() for one in named)
    ] == []


def test_the_pages_name_modules_that_are_there() -> None:
    packages = "|".join(
        sorted(path.name for path in (ROOT / "spark_jobs").iterdir() if path.is_dir() and path.stem[0] != "_")
    )
    pages = [page for page in (*PAGES, ROOT / "CONTRIBUTING.md") if page.name != "CHANGELOG.md"]
    named = {
        (page.relative_to(ROOT).as_posix(), name)
        for page in pages
        for name in re.findall(
            rf"`(?:spark_jobs/)?((?:{packages})/[a-z_/]+\.py)`", page.read_text(encoding="utf-8")
        )
    }

    assert named, "the pattern fits no page any more"
    assert [place for place in sorted(named) if not (ROOT / "spark_jobs" / place[1]).is_file()] == []


def test_the_way_of_a_record_stops_at_functions_that_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = page.partition("## The way of a record\n")[2].partition("\n## ")[0]
    stops = re.findall(r"`([a-z_/]+\.py):(\w+)`", walk)

    assert len(stops) > 30
    assert [
        f"{file}:{name}" for file, name in stops if name not in functions_of(ROOT / "spark_jobs" / file)
    ] == []


def functions_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_system_column_is_explained() -> None:
    page = TABLES_PAGE.read_text(encoding="utf-8")
    declared = [
        part.split()[0]
        for part in re.split(
            r", (?![^<]*>)",
            f"{BRONZE_DDL}, {ORIGIN_DDL}, {SEEN_DDL}, {TAGS_DDL}, {SET_ASIDE_DDL}, {LATE_DDL}",
        )
    ]
    stored = [name for schema in (ARRIVALS, *SCHEMAS.values()) for name in schema.names]
    names = {
        *declared,
        *stored,
        "_event_at",
        "_valid_from",
        "_valid_to",
        "_confirmed_by",
        "window_start",
        "window_end",
        "_row_count",
        "_revision",
    }

    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_every_exit_code_and_command_is_listed() -> None:
    page = OPERATIONS.read_text(encoding="utf-8")
    commands = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]

    assert [
        f"| {code} | `{status}` |"
        for status, code in EXIT_CODES.items()
        if f"| {code} | `{status}` |" not in page
    ] == []
    assert [name for name in commands if f"`weir {name}" not in page] == []


def test_the_commands_that_answer_in_json_are_those_that_the_page_names() -> None:
    [line] = [
        line
        for line in OPERATIONS.read_text(encoding="utf-8").splitlines()
        if " take `--json`: the last line" in line
    ]
    named = re.findall(r"`([a-z-]+)`", line.partition(" take ")[0])

    group = get_command(app)
    assert isinstance(group, TyperGroup)
    inner = group.commands["quarantine"]
    assert isinstance(inner, TyperGroup)
    commands = {**group.commands, "quarantine": inner.commands["list"]}
    assert sorted(named) == sorted(
        name
        for name, command in commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    )


def test_every_command_shows_an_example_and_its_exit_codes() -> None:
    groups = {"weir": app} | {
        f"weir {group.name}": group.typer_instance for group in app.registered_groups if group.typer_instance
    }
    epilogs = {
        f"{name} {command.name or command.callback.__name__}": command.epilog or ""
        for name, group in groups.items()
        for command in group.registered_commands
        if command.callback
    }

    assert len(epilogs) > 20
    assert [
        name for name, text in epilogs.items() if not ("Example: weir" in text and "Exit codes: " in text)
    ] == []


def test_every_key_of_a_profile_is_explained() -> None:
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")

    keys = re.findall(
        r"^\| (`[^|]+`) \|", page.partition("## Keys of a profile")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert re.findall(r"\w+", " ".join(keys)) == list(Profile.model_fields)


def test_every_error_has_an_entry_in_the_runbook() -> None:
    runbook = OPERATIONS.read_text(encoding="utf-8").partition("## Runbook")[2]

    assert [
        name
        for name in sorted(errors_of_the_code() - UNSEEN_ERRORS)
        if not re.search(rf"\b{name}\b", runbook)
    ] == []


def models_of_files() -> Iterator[type[BaseModel]]:
    """The models without those that are only the base of others."""
    waiting = list(Model.__subclasses__())
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        if not model.__subclasses__():
            yield model


def write_pipeline(root: Path, block: str) -> None:
    """A project with the shipped conf/, but this one pipeline."""
    shutil.copytree(ROOT / "conf", root / "conf", ignore=shutil.ignore_patterns("pipelines", "__pycache__"))
    (root / "conf" / "pipelines").mkdir()
    (root / "conf" / "pipelines" / f"{read_yaml(block, root)['pipeline']}.yml").write_text(
        block, encoding="utf-8"
    )


def problems_beside_the_pages_pipeline(root: Path, file: str, text: str) -> list[str]:
    """What `weir check` says of an expectation file for the pipeline that the page itself shows."""
    [pipeline] = pipeline_blocks(RULES_PAGE)
    write_pipeline(root, pipeline)
    (root / file).parent.mkdir(parents=True)
    (root / file).write_text(text, encoding="utf-8")
    return [str(problem) for problem in every_problem(root, {})]


def reference_rows(page: str, title: str) -> dict[str, tuple[str, str]]:
    """The keys in the table of a section, each with its default and its example."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \| .+ \|$", section, re.MULTILINE)
    return {key: (default, example) for key, default, example in rows}


def problems_of(model: type[BaseModel], written: dict[str, Any], key: str) -> list[str]:
    """What the model says of one key's value; that others are missing is no matter here."""
    try:
        model.model_validate(written, by_alias=True, by_name=False)
    except ValidationError as error:
        return [problem["msg"] for problem in error.errors() if problem["loc"][:1] == (key,)]
    return []


def read_yaml(text: str, folder: Path) -> dict[str, Any]:
    """As pipeline files are read: plain YAML would take the key `on` for true."""
    file = folder / "example.yml"
    file.write_text(text, encoding="utf-8")
    return read_document(file, file.name).data


def pipeline_blocks(page: Path) -> list[str]:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if block.startswith("pipeline:")]


def five_steps_pipeline() -> str:
    return next(block for block in pipeline_blocks(README) if block.startswith("pipeline: power\n"))


def differing_keys(part: Any, whole: Any, path: str = "") -> Iterator[str]:
    """Where a part says something else than the whole that it is cut from."""
    if isinstance(part, dict) and isinstance(whole, dict):
        for key, value in part.items():
            yield from (
                differing_keys(value, whole[key], f"{path}.{key}") if key in whole else [f"{path}.{key}"]
            )
    elif part != whole:
        yield path


def anchors(page: Path) -> set[str]:
    """The anchors that headings have: lower case, without marks, spaces as dashes."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def errors_of_the_code() -> set[str]:
    """Every class that is raised by its own name: those whose base is an exception."""
    files = [path for folder in ("spark_jobs", "dags", "plugins") for path in (ROOT / folder).rglob("*.py")]
    nodes = [
        node
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    return {
        node.name
        for node in nodes
        if any(ast.unparse(base).endswith(("Error", "Exception")) for base in node.bases)
    }
