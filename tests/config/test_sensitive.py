"""A column is sensitive by its declaration, or because it tells of one that is."""

from pathlib import Path

import pytest

from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import (
    EVERYTHING,
    all_names,
    sensitive_columns,
    sensitive_paths,
    without_hidden_plans,
)
from spark_jobs.config.sensitive_fields import Names
from tests.config.conftest import SHOP, Workspace
from tests.config.test_columns import clicks
from tests.conftest import Workshop

SECRETS = """\
pipeline: clicks
sources:
  people: {format: csv, path: people}
  visits: {format: json, path: visits}
  logs: {format: text, path: logs}
dimensions:
  people:
    from: people
    key: person_id
    columns:
      person_id: {type: bigint, sensitive: true}
      Email: {type: string, from: e.mail, sensitive: true}
      domain: {type: string, sql: "split_part(email, '@', 2)"}
      city: string
      changed_at: timestamp
    sequence_by: changed_at
    history: scd2
silver:
  visits:
    from: visits
    explode: pages
    columns:
      person: bigint
      page: {type: string, from: pages.name}
      token: {type: string, from: pages.auth.token, sensitive: true}
      visited_at: {type: timestamp, sensitive: true}
    event_time: visited_at
    lookup:
      people: {on: person, as_of: visited_at, take: [email, {email: mail}, city]}
  raw:
    from: visits
    columns: {page_count: int, kind: string}
  logs:
    from: logs
    columns:
      line: {type: string, from: value}
      user: {type: string, sql: "split_part(line, ' ', 2)", sensitive: true}
      level: {type: string, sql: "split_part(line, ' ', 1)"}
gold:
  per_hour:
    from: silver.visits
    window: {size: 1 hour}
    group_by: [email, city]
    measures: {visit_count: count(*), newest_token: max(token)}
  levels: {from: silver.logs, group_by: level, measures: {line_count: count(*)}}
  by_city: {sql: sql/by_city.sql}
  by_function: {python: "hooks/x.py:f", inputs: [silver.visits]}
  plain_function: {python: "hooks/x.py:f", inputs: [silver.raw]}
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return clicks(SECRETS, tmp_path)


def test_a_pipeline_that_declares_nothing_has_nothing_to_hide(tmp_path: Path) -> None:
    plain = clicks(SHOP.replace("pipeline: shop", "pipeline: clicks"), tmp_path)

    assert [
        sensitive_columns(plain, f"{layer}.{name}") for layer, name, _ in plain.tables() if layer != "bronze"
    ] == [frozenset()] * 8
    assert [sensitive_paths(plain, source) for source in plain.sources] == [frozenset()] * 4


def test_a_dimension_hides_what_it_declares_and_what_is_computed_from_it(pipeline: Pipeline) -> None:
    hidden = sensitive_columns(pipeline, "dimension.people")

    assert hidden == {"person_id", "email", "domain", "_content"}
    assert ("Email" in hidden, "EMAIL" in hidden, "city" in hidden) == (True, True, False)


def test_a_silver_table_hides_what_lookups_take_and_match(pipeline: Pipeline) -> None:
    assert sensitive_columns(pipeline, "silver.visits") == {
        "person", "token", "visited_at", "email", "mail", "_content", "_event_at", "_seen_until", "_closed_until",
    }  # fmt: skip
    assert sensitive_columns(pipeline, "quarantine.silver.visits") == sensitive_columns(
        pipeline, "silver.visits"
    )


def test_what_a_sensitive_sql_column_is_computed_from_is_hidden_but_not_its_siblings(
    pipeline: Pipeline,
) -> None:
    assert sensitive_columns(pipeline, "silver.logs") == {"line", "user", "_content"}


def test_gold_hides_groups_measures_and_windows(pipeline: Pipeline) -> None:
    assert sensitive_columns(pipeline, "gold.per_hour") == {
        "email",
        "newest_token",
        "window_start",
        "window_end",
    }
    assert sensitive_columns(pipeline, "gold.levels") == frozenset()


def test_a_function_over_sensitive_rows_may_put_them_anywhere(pipeline: Pipeline) -> None:
    assert "whatever" in sensitive_columns(pipeline, "gold.by_function")
    assert "whatever" not in sensitive_columns(pipeline, "gold.plain_function")


@pytest.mark.parametrize(
    ("sql", "is_hidden"),
    [
        ("SELECT city, count(*) AS visits FROM silver.visits GROUP BY city", False),
        ("SELECT city, max(TOKEN) AS t FROM silver.visits GROUP BY city", True),
        ("SELECT * FROM silver.visits", True),
        ("SELECT * FROM silver.raw", False),
        ("WITH v AS (SELECT v.email AS city FROM silver.visits v) SELECT city FROM v", True),
        ("SELECT ((city FROM silver.visits", True),
    ],
)
def test_a_sql_table_is_hidden_where_its_text_names_what_is(
    pipeline: Pipeline, workspace: Workspace, sql: str, is_hidden: bool
) -> None:
    workspace.write("conf/sql/by_city.sql", sql)

    assert ("t" in sensitive_columns(pipeline, "gold.by_city", workspace.root / "conf")) is is_hidden
    assert "t" in sensitive_columns(pipeline, "gold.by_city")


def test_records_are_masked_for_all_tables_of_their_source(pipeline: Pipeline) -> None:
    assert sensitive_paths(pipeline, "people") == {("person_id",), ("e.mail",)}
    assert sensitive_paths(pipeline, "visits") == {("person",), ("pages", "auth", "token"), ("visited_at",)}
    assert sensitive_paths(pipeline, "logs") == {()}
    assert sensitive_columns(pipeline, "bronze.visits") == {"record"}
    assert sensitive_columns(pipeline, "silver.raw") == frozenset()


def test_an_expression_that_cannot_be_read_may_tell_of_anything(tmp_path: Path) -> None:
    broken = SECRETS.replace("split_part(email, '@', 2)", "split_part(((").replace("max(token)", "max(((")

    assert "domain" in sensitive_columns(clicks(broken, tmp_path), "dimension.people")
    assert "newest_token" in sensitive_columns(clicks(broken, tmp_path), "gold.per_hour")


def test_a_field_that_one_table_declares_sensitive_is_so_in_all_tables_of_its_source(tmp_path: Path) -> None:
    shared = SECRETS.replace(
        "kind: string}",
        "kind: string, auth: {type: string, from: pages.auth}, whole: {type: string, from: Pages}}",
    )

    assert sensitive_columns(clicks(shared, tmp_path), "silver.raw") == {"auth", "whole", "_content"}


def test_names_of_several_tables_are_asked_without_regard_to_case() -> None:
    assert "E_Mail" in all_names(Names(["e_mail"]), Names(["phone"]))
    assert "anything" in all_names(Names(["phone"]), EVERYTHING)
    assert "city" not in all_names(Names(["phone"]), Names())


WINDOWS = """
pipeline: visits
sources:
  visits: {{format: json, path: visits}}
silver:
  visits:
    from: visits
    columns: {{id: bigint, at: {{type: timestamp, sensitive: {is_sensitive}}}}}
    event_time: at
gold:
  {gold}
"""


@pytest.mark.parametrize(
    "gold",
    [
        "per_hour: {from: silver.visits, window: {size: 1 hour}, measures: {visit_count: count(*)}}",
        "visits: {from: silver.visits, dedup: {on: [id], within: 1 hour}}",
    ],
    ids=["windows", "dedup"],
)
def test_plans_with_times_of_a_sensitive_column_are_in_no_event_log(
    idle_workshop: Workshop, gold: str
) -> None:
    observed, kept = Profile.model_validate({"master": "local[2]", "event_log": True}), {}
    for is_sensitive in ("true", "false"):
        idle_workshop.write("conf/pipelines/visits.yml", WINDOWS.format(is_sensitive=is_sensitive, gold=gold))
        project = idle_workshop.project
        kept[is_sensitive] = without_hidden_plans(
            observed, project.pipelines["visits"], project.conf
        ).event_log

    assert kept == {"true": False, "false": True}


def test_columns_that_are_computed_from_a_sensitive_one_or_give_it_are_hidden_at_any_distance() -> None:
    columns = {
        "mail": "string",
        "name": {"type": "string", "sql": "lower(mail)"},
        "secret": {"type": "string", "sql": "concat(name, '!')", "sensitive": True},
        "shown": {"type": "string", "sql": "upper(secret)"},
        "length": {"type": "int", "sql": "length(shown)"},
        "city": "string",
        "town": {"type": "string", "sql": "lower(city)"},
    }
    table = {"from": "clicks", "columns": columns}
    pipeline = Pipeline.model_validate(
        {
            "pipeline": "web",
            "sources": {"clicks": {"format": "json", "path": "clicks"}},
            "silver": {"clicks": table},
        }
    )

    assert sensitive_columns(pipeline, "silver.clicks") == {
        "mail", "name", "secret", "shown", "length", "_content",
    }  # fmt: skip
