"""Finds the metrics that Great Expectations' expectations need: all that can be aggregates, of all frames, in
one question to Spark.

GX itself resolves metrics in rounds, with a query for each domain and for many of the metrics. Here those
that need no rows are computed as soon as they can be, and aggregates wait until nothing else is left to do:
then they are asked together. What cannot be asked so is GX's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.exceptions.exceptions import GreatExpectationsError
from great_expectations.execution_engine.execution_engine import MetricComputationConfiguration
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.registry import get_metric_provider
from great_expectations.validator.metric_configuration import MetricConfiguration, MetricConfigurationID
from great_expectations.validator.validation_graph import ValidationGraph
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_jobs.quality.aggregates import ROW_COUNT, Judged, Wanted, aggregate_of, is_list_of_values

COUNTS = {"result_format": "BASIC", "partial_unexpected_count": 0}
UNANSWERABLE = (
    GreatExpectationsError,
    PySparkException,
    Py4JError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What comes out of GX and Spark for a question that cannot be answered, such as one about a column that is
not there.
"""


@dataclass
class FrameMetrics:
    """The metrics that are needed of one frame: their values, and why some could not be found."""

    judged: Judged
    values: dict[MetricConfigurationID, Any] = field(default_factory=dict)
    problems: dict[MetricConfigurationID, str] = field(default_factory=dict)
    _open: dict[MetricConfigurationID, MetricConfiguration] = field(default_factory=dict)
    _known: dict[MetricConfigurationID, MetricConfiguration] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._graph = ValidationGraph(execution_engine=self.engine)

    @property
    def engine(self) -> SparkDFExecutionEngine:
        """GX's, over the rows."""
        return self.judged.engine

    @property
    def session(self) -> int:
        """Which session the rows are of."""
        return id(self.judged.rows.sparkSession)

    def need(self, metric: MetricConfiguration) -> None:
        """Add a metric, and those that it is made from."""
        provider, _ = self._graph.set_metric_configuration_default_kwargs_if_absent(metric)
        if metric.id in self._known:
            return
        self._known[metric.id] = self._open[metric.id] = metric
        metric.metric_dependencies = provider.get_evaluation_dependencies(
            metric=metric, execution_engine=self.engine, runtime_configuration={"result_format": dict(COUNTS)}
        )
        for dependency in metric.metric_dependencies.values():
            self.need(dependency)

    def problem_with(self, metric: MetricConfiguration) -> str | None:
        """Why a metric could not be found."""
        return self.problems.get(metric.id)

    def advance(self) -> dict[MetricConfigurationID, Wanted]:
        """Compute all that needs no aggregate; the aggregates that are needed to go on."""
        wanted: dict[MetricConfigurationID, Wanted] = {}
        is_moving = True
        while is_moving:
            is_moving = False
            for metric in [metric for key, metric in self._open.items() if key not in wanted]:
                found = self._step(metric)
                if isinstance(found, Wanted):
                    wanted[metric.id] = found
                is_moving |= metric.id not in self._open
        return wanted

    def _step(self, metric: MetricConfiguration) -> Wanted | None:
        """Find one metric, if what it is made from is there; its aggregate if it is one."""
        needed = metric.metric_dependencies
        failed = [self.problems[part.id] for part in needed.values() if part.id in self.problems]
        if failed:
            self._close(metric, problem=failed[0])
        if failed or any(part.id not in self.values for name, part in needed.items() if name != ROW_COUNT):
            return None
        try:
            return self._find(metric)
        except UNANSWERABLE as error:
            self._close(metric, problem=str(error))
            return None

    def _find(self, metric: MetricConfiguration) -> Wanted | None:
        if is_list_of_values(metric):
            self._close(metric, [])
            return None
        wanted = aggregate_of(metric, self._given(metric), self.judged)
        count = metric.metric_dependencies.get(ROW_COUNT)
        if wanted is None and (count is None or count.id in self.values or self._is_partial(metric)):
            self._close(metric, self.ask_gx(metric))
        return wanted

    def settle(self, key: MetricConfigurationID, value: Any) -> None:
        """The value of a metric, as Spark gave it."""
        self._close(self._known[key], value)

    def settle_by_gx(self, key: MetricConfigurationID) -> None:
        """Ask for one metric as GX does, by a query of its own."""
        try:
            self._close(self._known[key], self.ask_gx(self._known[key]))
        except UNANSWERABLE as error:
            self._close(self._known[key], problem=str(error))

    def ask_gx(self, metric: MetricConfiguration) -> Any:
        """The value by GX's own function."""
        provider, function = get_metric_provider(metric.metric_name, self.engine)
        given = {
            name: self.values[part.id]
            for name, part in metric.metric_dependencies.items()
            if part.id in self.values
        }
        arguments = {"cls": provider, "execution_engine": self.engine, "metrics": given}
        arguments |= {
            "metric_domain_kwargs": metric.metric_domain_kwargs,
            "metric_value_kwargs": metric.metric_value_kwargs,
        }
        if function is not None:
            return function(**arguments, runtime_configuration={"result_format": dict(COUNTS)})
        aggregate, domain, accessor = given["metric_partial_fn"]
        bundle = MetricComputationConfiguration(metric, aggregate, arguments, domain, accessor)
        return self.engine.resolve_metric_bundle([bundle])[metric.id]

    def _given(self, metric: MetricConfiguration) -> dict[str, Any]:
        """The metrics that a metric is made from; of a count of unexpected rows the condition too, which GX
        hides in the aggregate.
        """
        parts = dict(metric.metric_dependencies)
        if "metric_partial_fn" in parts:
            parts = dict(parts["metric_partial_fn"].metric_dependencies) | parts
        return {name: self.values[part.id] for name, part in parts.items() if part.id in self.values}

    def _is_partial(self, metric: MetricConfiguration) -> bool:
        """Whether it is a condition or an aggregate for another metric. GX lets them wait for the number of
        rows, which none looks at.
        """
        kind = getattr(get_metric_provider(metric.metric_name, self.engine)[1], "metric_fn_type", None)
        return isinstance(kind, MetricPartialFunctionTypes)

    def _close(self, metric: MetricConfiguration, value: Any = None, problem: str | None = None) -> None:
        del self._open[metric.id]
        if problem is None:
            self.values[metric.id] = value
        else:
            self.problems[metric.id] = problem


def resolve(frames: Sequence[FrameMetrics]) -> None:
    """Find all metrics of all frames. Few depend on the value of an aggregate: for them there is a second
    question.

    Frames of different sessions are asked apart: each session has settings of its own, such as ANSI mode.
    """
    for session in {frame.session for frame in frames}:
        together = [frame for frame in frames if frame.session == session]
        while wanted := [(frame, key, want) for frame in together for key, want in frame.advance().items()]:
            _ask(wanted)


Asked = tuple[FrameMetrics, MetricConfigurationID, Wanted]


def _ask(wanted: Sequence[Asked]) -> None:
    """Together; where that fails in halves, down to those that fail alone: they are left to GX, which says
    why.
    """
    try:
        values = list(_collect([want for _, _, want in wanted]))
    except UNANSWERABLE:
        if len(wanted) == 1:
            frame, key, _ = wanted[0]
            frame.settle_by_gx(key)
            return
        half = len(wanted) // 2
        _ask(wanted[:half])
        _ask(wanted[half:])
        return
    for (frame, key, _), value in zip(wanted, values, strict=True):
        frame.settle(key, value)


def _collect(wanted: Sequence[Wanted]) -> Iterator[Any]:
    """The values, by one question: a row for each frame, with all its aggregates in one column."""
    by_frame: dict[int, list[int]] = {}
    for place, want in enumerate(wanted):
        by_frame.setdefault(id(want.rows), []).append(place)
    answers = [
        _answer(wanted, places).select(F.struct("*").alias(str(key))) for key, places in by_frame.items()
    ]
    rows: list[Row] = reduce(
        lambda one, other: one.unionByName(other, allowMissingColumns=True), answers
    ).collect()
    given = {key: next(row[str(key)] for row in rows if row[str(key)] is not None) for key in by_frame}
    found = {place: given[key][str(place)] for key, places in by_frame.items() for place in places}
    return (want.read(found[place]) for place, want in enumerate(wanted))


def _answer(wanted: Sequence[Wanted], places: Sequence[int]) -> DataFrame:
    """One row with the aggregates over one frame."""
    return wanted[places[0]].rows.agg(*(wanted[place].aggregate.alias(str(place)) for place in places))
