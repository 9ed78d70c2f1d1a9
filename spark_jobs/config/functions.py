"""The functions of Spark SQL: which of them a table may use, because it must be a function of its data, and
what is special about some.

Every function is in functions.txt, in the group [allowed] or in one that says why it is refused.
"""

from pathlib import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _read_groups() -> dict[str, frozenset[str]]:
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return {name: _words(names) for name, _, names in (part.partition("]") for part in lines.split("[")[1:])}


GROUPS = _read_groups()
ALLOWED = GROUPS["allowed"]
# Why the functions of a group are refused, and what to do instead.
WHY_REFUSED = {
    "clock": (
        "it depends on when the run takes place",
        "take the time from the data, as in the event time or _arrived_at",
    ),
    "chance": (
        "it gives another value in every run",
        "derive the value from the data, as in xxhash64(order_id)",
    ),
    "session": ("it depends on who runs it and where", "write the value itself"),
    "place": (
        "it depends on how the rows are spread over files and tasks",
        "order by columns of the data instead",
    ),
    "code": (
        "it calls code that is no SQL",
        "write a Python table of gold, as in python: hooks/mine.py:make",
    ),
    "jar": ("it is in a jar that is not loaded", "let the source decode its records, as in value: avro"),
    "sketch": (
        "it is approximate, and depends on the order in which rows arrive",
        "use percentile(x, p), count(DISTINCT x) or approx_count_distinct(x)",
    ),
    "double": (
        "it depends on the order in which rows arrive: Spark computes it in double precision for every type",
        "derive it from sum(x), sum(x * x) and count(x) of decimal numbers",
    ),
    "collation": (
        "of values that it takes for equal, which one is kept depends on the order of rows",
        "compare lower(x)",
    ),
    "failure": (
        "one row would fail the whole table",
        (
            "leave such rows out by where, mark the column as required, or write an expectation with on_fail:"
            " block"
        ),
    ),
    "type": ("its type cannot be stored in a table", "use a timestamp, text or a number"),
    "wrap": (
        "it gives another number, or another day, where its type cannot hold the one that is there",
        "use timestamp_seconds(x) or timestamp_millis(x), and CAST(xpath_string(x, '…') AS INT)",
    ),
    "metric": ("it belongs to metric views, which are not read here", "aggregate the columns themselves"),
}
REFUSED = {name: group for group in WHY_REFUSED for name in GROUPS[group]}
BUILT_IN = ALLOWED | REFUSED.keys()
WITHOUT_PARENTHESES = _words(
    "current_timestamp current_date current_time current_path localtimestamp current_user session_user user"
)
# Written like a function, but a word of the grammar: before a parenthesis these call nothing.
GRAMMAR = _words("""
    all and anti any array as between by case cast char cross cube dec decimal distinct else end except
    exclude exists filter for from full group grouping having in inner intersect interval is join lateral left
    like ilike limit map minus natural not numeric offset on or order outer over partition pivot qualify
    recursive regexp right rlike rollup select semi set sets some struct tablesample then timestampadd
    timestampdiff try_cast union unpivot using values varchar view when where with within
    """) | {
    "grouping sets",
    *(f"{word} by" for word in ("cluster", "distribute", "group", "order", "partition", "sort")),
}

AGGREGATES = _words("""
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop
    covar_samp every first first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum
    """)

# One row becomes several: not for an expression over one row. A sliding time window multiplies rows, too.
GENERATORS = _words("""
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer session_window stack
    variant_explode variant_explode_outer window window_time
    """)

BY_TIE = "max_by(x, struct(t, x)) FILTER (WHERE t IS NOT NULL)"
# Aggregates whose answer depends on the order in which rows come, and what to use instead.
ORDER_DEPENDENT = (
    dict.fromkeys(
        _words("first first_value any_value last last_value"),
        f"use min(x), max(x), or {BY_TIE}, or min_by in the same way",
    )
    | dict.fromkeys(
        _words("collect_list array_agg collect_set"),
        "use array_sort(collect_list(x)) or array_sort(collect_set(x))",
    )
    | dict.fromkeys(_words("listagg string_agg"), "use listagg(x, ',') WITHIN GROUP (ORDER BY x)")
    | {"mode": "use mode(x, true), which takes the smallest of several"}
)
# Of several rows with the same t any one may win.
BY_ORDER = _words("max_by min_by")
# Of window functions those that tell rows with equal keys of the order apart.
BY_POSITION = _words("""
    row_number ntile lag lead nth_value first first_value last last_value any_value collect_list collect_set
    array_agg listagg string_agg
    """)
# Aggregates that add: exact over whole and decimal numbers, and dependent on the order of rows in floating
# point.
ADDING = _words("sum try_sum avg try_avg mean")
# Functions whose result is a double, whatever they are given.
DOUBLES = _words("""
    acos acosh asin asinh atan atan2 atanh cbrt cos cosh cot csc cume_dist degrees e exp expm1 hypot ln log
    log10 log1p log2 median months_between percent_rank percentile percentile_cont pi pow power radians rint
    sec sin sinh sqrt tan tanh vector_norm xpath_double xpath_float xpath_number
    """)
SORTS = _words("array_sort sort_array")
# What these say of an array does not depend on its order.
ORDERLESS = _words("size cardinality array_size array_max array_min array_contains")
# Functions that compare what they are given.
COMPARING = _words("""
    array_contains array_distinct array_except array_intersect array_max array_min array_position array_remove
    array_sort array_union arrays_overlap collect_set greatest hash least max max_by median min min_by mode
    nullif sort_array xxhash64
    """)

# Functions of a time: text that they are given becomes one, and '12:30' or 'now' is a time of the day on
# which it is read.
TAKE_TIMES = _words("""
    add_months convert_timezone date date_add date_diff date_format date_part date_sub date_trunc dateadd
    datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_utc_timestamp hour last_day
    minute month monthname months_between next_day quarter second session_window timestamp timestampadd
    timestampdiff time_bucket to_date to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp
    to_utc_timestamp trunc try_to_date try_to_timestamp unix_date unix_micros unix_millis unix_seconds
    unix_timestamp weekday weekofyear window year
    """)
# Of these the ones that are told the form of the text by a second argument.
WITH_FORMAT = _words(
    "to_date to_timestamp to_timestamp_ltz to_timestamp_ntz try_to_date try_to_timestamp unix_timestamp"
    " to_unix_timestamp"
)
# Of these the ones that take a part or an interval first, and the time behind it.
BEHIND_A_PART = _words("date_part datepart time_bucket")
# Functions whose result is text.
TEXTS = _words("""
    array_join base64 btrim char chr concat concat_ws date_format dayname decode elt format_number
    format_string from_unixtime get_json_object hex initcap lcase left listagg lower lpad ltrim mask md5
    monthname overlay parse_url printf regexp_extract regexp_replace regexp_substr repeat replace reverse
    right rpad rtrim sha sha1 sha2 space split_part string string_agg substr substring substring_index to_char
    to_json to_varchar translate trim try_parse_url try_url_decode ucase upper url_decode url_encode
    """)

# One row of a feed that such a function cannot take would stop its table for good.
_TRIED = _words("url_decode to_number parse_json to_binary aes_decrypt variant_get")
RAISING = {name: f"use try_{name}, which gives NULL" for name in _TRIED} | {
    "sequence": "use the key 'explode' of the table, or a SQL table of gold",
}
# Between what a part of a time is.
RANGES: dict[str, tuple[float, float]] = dict.fromkeys(
    _words("""
    day dayofmonth dayofweek dayofyear day_of_month day_of_week day_of_year hour minute month quarter second
    weekday weekofyear week_of_year
    """),
    (0, 366),
)
# Functions whose result is an array, a map or an object.
NESTED = _words("""
    array array_append array_compact array_distinct array_except array_insert array_intersect array_remove
    array_prepend array_repeat array_sort array_union arrays_zip collect_list collect_set filter flatten
    from_csv from_json from_xml json_object_keys map map_concat map_entries map_filter map_from_arrays
    map_from_entries map_keys map_values map_zip_with named_struct regexp_extract_all sentences sequence slice
    sort_array split str_to_map struct transform transform_keys transform_values xpath zip_with
    """)
