"""The types of expectations that Weir itself knows: those that can set single rows aside, its own, and those
that it refuses.

All others are Great Expectations' own and are checked where it is installed (quality/check.py).
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from spark_jobs.config.errors import Hinted
from spark_jobs.config.names import ColumnName, Duration, Model, parse_duration
from spark_jobs.config.text import count

COMPILED = (
    "expect_column_values_to_not_be_null",
    "expect_column_values_to_be_null",
    "expect_column_values_to_be_in_set",
    "expect_column_values_to_not_be_in_set",
    "expect_column_values_to_be_between",
    "expect_column_values_to_match_regex",
    "expect_column_values_to_not_match_regex",
    "expect_column_values_to_match_regex_list",
    "expect_column_values_to_not_match_regex_list",
    "expect_column_value_lengths_to_be_between",
    "expect_column_value_lengths_to_equal",
    "expect_column_pair_values_to_be_equal",
    "expect_column_pair_values_a_to_be_greater_than_b",
    "expect_column_pair_values_to_be_in_set",
    "expect_multicolumn_sum_to_equal",
    "expect_select_column_values_to_be_unique_within_record",
)
"""The types that are also compiled to a predicate of one row: only they may say `on_fail: quarantine`, or
`tag`.
"""

CUSTOM_SQL = "unexpected_rows_expectation"
REFUSED = {
    "expect_column_values_to_be_increasing": "the rows of a table have no order",
    "expect_column_values_to_be_decreasing": "the rows of a table have no order",
    "expect_query_results_to_match_comparison": f"it needs a second data source of GX's; use {CUSTOM_SQL}",
    "expect_table_row_count_to_equal_other_table": f"GX has it for SQL databases only; use {CUSTOM_SQL}",
}
"""Types of Great Expectations that cannot be used here, and why."""


class OwnType(Model):
    """What all of Weir's own types take, as Great Expectations' do."""

    row_condition: str | None = Field(None, description="SQL condition: only such rows are looked at")
    condition_parser: Literal["spark"] | None = Field(None, description="goes with row_condition")


class RowCountHistory(OwnType):
    """expect_table_row_count_to_match_history: the rows about to be published against the median of the last
    batches.
    """

    min_ratio: float | None = Field(None, gt=0, description="at least so many times the median")
    max_ratio: float | None = Field(None, gt=0, description="at most so many times the median")
    batches: int = Field(
        10, ge=1, le=1_000, description="how many of the last batches the median is taken of"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_ratio is None and self.max_ratio is None:
            raise Hinted("neither min_ratio nor max_ratio is given", "add at least one of them")
        if self.row_condition is not None:
            raise Hinted("'row_condition' is incompatible with a comparison of whole batches", "remove it")
        if self.min_ratio is not None and self.max_ratio is not None and self.min_ratio > self.max_ratio:
            raise Hinted(
                f"min_ratio ({self.min_ratio}) is greater than max_ratio ({self.max_ratio})", "exchange them"
            )
        return self


class RecentMaximum(OwnType):
    """expect_column_max_to_be_recent: the newest time against the newest recorded arrival of the pipeline."""

    column: ColumnName = Field(description="a timestamp or date column")
    max_age: Duration = Field(description="how much older than the newest arrival its newest value may be")

    @property
    def seconds(self) -> float:
        return parse_duration(self.max_age).total_seconds()


class OtherTableMembers(OwnType):
    """expect_column_values_to_be_in_other_table: every value is there in another table; NULLs pass."""

    column: ColumnName | None = Field(None, description="the column whose values are looked up")
    column_list: list[ColumnName] | None = Field(
        None, min_length=1, description="several columns that are looked up together"
    )
    other_table: str = Field(
        description="a table of the pipeline by its full name, as in dimension.customers"
    )
    other_column: ColumnName | None = Field(None, description="the column of the other table")
    other_column_list: list[ColumnName] | None = Field(
        None, min_length=1, description="its columns, in the order of column_list"
    )

    @model_validator(mode="after")
    def _paired(self) -> Self:
        if (self.column is None) == (self.column_list is None) or (self.column is None) != (
            self.other_column is None
        ):
            raise Hinted(
                "the columns do not pair up",
                "give column with other_column, or column_list with other_column_list",
            )
        if len(self.columns) != len(self.other_columns):
            here = count(len(self.columns), "column stands", "columns stand")
            raise Hinted(
                f"{here} against {len(self.other_columns)} of the other table", "name as many of each"
            )
        return self

    @property
    def columns(self) -> list[str]:
        return self.column_list or ([self.column] if self.column else [])

    @property
    def other_columns(self) -> list[str]:
        return self.other_column_list or ([self.other_column] if self.other_column else [])


class OtherTableSum(OwnType):
    """expect_column_sum_to_equal_other_table: two sums that must match."""

    column: ColumnName = Field(description="a number column")
    other_table: str = Field(description="a table of the pipeline by its full name, as in silver.order_lines")
    other_column: ColumnName = Field(description="a number column of the other table")
    tolerance: float = Field(0, ge=0, description="how far apart the sums may be")

    @property
    def other_columns(self) -> list[str]:
        return [self.other_column]


OWN: dict[str, type[OwnType]] = {
    "expect_table_row_count_to_match_history": RowCountHistory,
    "expect_column_max_to_be_recent": RecentMaximum,
    "expect_column_values_to_be_in_other_table": OtherTableMembers,
    "expect_column_sum_to_equal_other_table": OtherTableSum,
}
"""Weir's own types with the model of their arguments: each stands for one of GX's with values that are known
when a batch is judged.
"""
