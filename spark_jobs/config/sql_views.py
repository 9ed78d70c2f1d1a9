"""The text of a query with its tables replaced by views; all else stays as it is."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from spark_jobs.config.sql import located_tables, parse_query, start_of


def with_views(sql: str, views: Mapping[str, str]) -> str:
    """The text with each table of `views` replaced by its view, in FROM and in qualified columns; all else
    stays as it is.
    """
    tree = parse_query(sql)
    spans: dict[tuple[int, int], str] = {}
    for name, table in located_tables(tree):
        if name in views:
            spans[_span(table.parts)] = views[name]
    for column in tree.find_all(exp.Column):
        spans.update(_qualifier_spans(column, views))
    for (start, end), view in sorted(spans.items(), reverse=True):
        sql = sql[:start] + view + sql[end:]
    return sql


def _qualifier_spans(column: exp.Column, views: Mapping[str, str]) -> Iterator[tuple[tuple[int, int], str]]:
    """Where a column is qualified by a table of `views`: silver.orders.amount, or orders.amount below FROM
    silver.orders.
    """
    source = _source_named(column) if len(column.parts) > 1 else None
    if source is None:
        return
    name = ".".join(part.name for part in source.parts).lower()
    if name in views:
        yield _span(column.parts[: _words_naming(source, column)]), views[name]


def _words_naming(table: exp.Table, column: exp.Column) -> int:
    """How many of a column's first words name the table: all of retail.silver.orders, silver.orders, or
    orders alone.
    """
    words, named = (
        [part.name.lower() for part in column.parts[:-1]],
        [part.name.lower() for part in table.parts],
    )
    return next((count for count in range(len(named), 0, -1) if words[:count] == named[-count:]), 0)


def _source_named(column: exp.Column) -> exp.Table | None:
    """The table without an alias that a column's first words name, in the nearest SELECT that has one."""
    first = column.parts[0].name.lower()
    select = column.find_ancestor(exp.Select)
    while select is not None:
        sources = [select.args.get("from_"), *(select.args.get("joins") or [])]
        for source in (part.this for part in sources if part is not None):
            if isinstance(source, exp.Table) and not source.alias and source.db:
                if _words_naming(source, column):
                    return source
            elif source.alias_or_name.lower() == first:
                return None
        select = select.find_ancestor(exp.Select)
    return None


def _span(parts: list[exp.Expr]) -> tuple[int, int]:
    return start_of(parts[0]), int(parts[-1].meta["end"]) + 1
