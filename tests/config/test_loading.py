"""Files become frozen models, or problems with file, line, value, what is allowed and the nearest word."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.config import ConfigError, load_pipeline, load_project
from spark_jobs.config.errors import UsageError
from spark_jobs.config.loading import find_root
from tests.config.conftest import Workspace

ROOT = Path(__file__).resolve().parents[2]
LONG = "x" * 300

# old text, new text, text of the line, the value, part of the message, part of the hint
REFUSED = {
    "an unknown key": (
        "schedule:",
        "shedule:",
        "shedule",
        "0 * * * *",
        "the key 'shedule' is unknown",
        "did you mean 'schedule'?",
    ),
    "an unknown key in a column": (
        'sql: "amount > 100"',
        'sqll: "amount > 100"',
        "is_big",
        "amount > 100",
        "the key 'sqll' is unknown",
        "'sql'",
    ),
    "an unknown key in a lookup": (
        "take: [city]",
        "take: [city], asof: x",
        "customers: {on",
        "x",
        "'asof' is unknown",
        "did you mean 'as_of'?",
    ),
    "the name of a field in Python": (
        "    from: logs\n",
        "    from: logs\n    from_: logs\n",
        "from_",
        "logs",
        "'from_' is unknown",
        "did you mean 'from'?",
    ),
    "a wrong word": (
        "format: json",
        "format: jsn",
        "orders:",
        "jsn",
        "'jsn' is not allowed",
        "did you mean 'json'? allowed: json, csv, parquet, text, avro, orc, xml, kafka, delta, rate, socket",
    ),
    "a wrong history": (
        "history: scd2",
        "history: scd3",
        "history",
        "scd3",
        "'scd3' is not allowed",
        "scd1, scd2",
    ),
    "an unknown type": (
        "      order_id: bigint\n      customer_id",
        "      order_id: bigin\n      customer_id",
        "order_id: bigin",
        "bigin",
        "not a type",
        "did you mean 'bigint'?",
    ),
    "an impossible decimal": (
        "decimal(12,2)",
        "decimal(52,2)",
        "amount",
        "decimal(52,2)",
        "not possible",
        "1 to 38",
    ),
    "a path out of the root": (
        "path: shop/logs",
        "path: ../logs",
        "logs:",
        "../logs",
        "not a path below the root",
        "without '..'",
    ),
    "a table called a/b": (
        "  lines:\n",
        "  a/b:\n",
        "a/b",
        "a/b",
        "'a/b' is not a legal name",
        "lower-case letters",
    ),
    "a table called ../x": (
        "  lines:\n",
        "  ../x:\n",
        "../x",
        "../x",
        "'../x' is not a legal name",
        "lower-case letters",
    ),
    "a name of 300 letters": (
        "  lines:\n",
        f"  {LONG}:\n",
        LONG,
        LONG,
        "(300 characters) is not a legal name",
        "at most 63",
    ),
    "a system column": (
        "      paid_at:",
        "      _paid_at:",
        "_paid_at",
        "_paid_at",
        "not a legal column name",
        "starting with a letter",
    ),
    "a number in quotes": (
        "path: shop/logs",
        'path: shop/logs, files_per_batch: "5"',
        "logs:",
        "5",
        "'5' is not a whole number",
        "without quotes",
    ),
    "a number that is too small": (
        "path: shop/logs",
        "path: shop/logs, files_per_batch: 0",
        "logs:",
        0,
        "0 is not allowed",
        "greater than or equal to 1",
    ),
    "a number for text": (
        "pipeline: shop",
        "pipeline: shop\nowner: 5",
        "owner",
        5,
        "5 is not text",
        "quotes",
    ),
    "yes for true": (
        "sql: \"split_part(line, ' ', 1)\"",
        "required: yes",
        "level",
        "yes",
        "'yes' is not a yes or no",
        "true or false",
    ),
    "a list for a mapping": (
        "    columns: {country: string, region: string, manager: string, version: int}",
        "    columns: [country]",
        "columns",
        ["country"],
        "is not a mapping",
        "key: value",
    ),
    "a word for a list": (
        "group_by: [city]",
        "group_by: {city: 1}",
        "group_by",
        {"city": 1},
        "is not a list",
        "[a, b]",
    ),
    "a bad duration": (
        "size: 1 hour",
        "size: 1 fortnight",
        "window",
        "1 fortnight",
        "not a duration",
        "'15 minutes'",
    ),
    "a bad schedule": (
        '"0 * * * *"',
        '"0 25 * * *"',
        "schedule",
        "0 25 * * *",
        "'25' does not fit the field 'hour'",
        "0 to 23",
    ),
    "a column with two origins": (
        "{type: string, from: value}",
        "{type: string, from: value, sql: x}",
        "line:",
        {"type": "string", "from": "value", "sql": "x"},
        "'from' is incompatible with 'sql'",
        "keep one of the two",
    ),
    "an empty key": ("key: order_id", "key: []", "key", [], "nothing stands here", "at least one"),
    "a Python table outside conf": (
        "hooks/shop.py:funnel",
        "/hooks/shop.py:funnel",
        "python",
        "/hooks/shop.py:funnel",
        "right form",
        "hooks/retail.py:build",
    ),
    "a key that stands twice": (
        "    key: order_id\n",
        "    key: order_id\n    key: version\n",
        "key: version",
        "key",
        "stands here twice",
        "keep one",
    ),
    "another name than the file's": (
        "pipeline: shop",
        "pipeline: shops",
        "pipeline",
        "shops",
        "'shops' stands in a file called shop.yml",
        "rename",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_mistake_is_refused_with_line_value_and_hint(
    workspace: Workspace, case: tuple[str, str, str, object, str, str]
) -> None:
    old, new, line, value, message, hint = case
    workspace.replace(old, new)

    workspace.assert_refused(line, value, message, hint)


def test_a_missing_key_is_named_at_its_mapping(workspace: Workspace) -> None:
    workspace.replace("  orders: {format: json, path: shop/orders}", "  orders: {format: json}")

    problem = workspace.problem()

    assert (problem.line, problem.where) == (4, "sources.orders.path")
    assert problem.message == "the key 'path' is missing"
    assert problem.hint.startswith("add it: folder below the landing root; its sub-folders belong to it")


def test_a_problem_prints_as_file_line_and_hint(workspace: Workspace) -> None:
    workspace.replace("format: json", "format: jsn")

    assert str(workspace.problem()).splitlines() == [
        "conf/pipelines/shop.yml:4: sources.orders.format: 'jsn' is not allowed here",
        (
            "    did you mean 'json'? allowed: json, csv, parquet, text, avro, orc, xml, kafka, delta, rate,"
            " socket"
        ),
    ]


def test_all_problems_of_all_files_are_raised_together(workspace: Workspace) -> None:
    workspace.replace("format: json", "format: jsn")
    workspace.replace("pipeline: shop", "pipeline: shop\ncolor: red")
    workspace.write("conf/profiles/local.yml", "master: moon\n")
    workspace.write("conf/lakehouse.yml", "landing: landing\n")

    with pytest.raises(ConfigError) as caught:
        load_project(workspace.root, {})

    places = [(problem.file, problem.line, problem.where) for problem in caught.value.problems]
    assert places == [
        ("conf/lakehouse.yml", 1, "lake"),
        ("conf/pipelines/shop.yml", 2, "color"),
        ("conf/pipelines/shop.yml", 5, "sources.orders.format"),
        ("conf/profiles/local.yml", 1, "master"),
    ]


def test_a_broken_file_leaves_the_others_alone(workspace: Workspace) -> None:
    broken = workspace.write("conf/pipelines/broken.yml", "pipeline: broken\n")

    assert load_pipeline(workspace.root / "conf/pipelines/shop.yml", workspace.root).name == "shop"
    assert list(load_project(workspace.root, {}, only="shop").pipelines) == ["shop"]
    with pytest.raises(
        ConfigError,
        match=r"conf/pipelines/broken\.yml:1: the pipeline has no table\n    add sources, or gold tables",
    ):
        load_pipeline(broken, workspace.root)


def test_a_pipeline_that_is_not_there_is_refused(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="PIPELINE: there is no pipeline 'shp'\n    did you mean 'shop'"):
        load_project(workspace.root, {}, only="shp")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("extra.yaml", "extra.yaml does not end in .yml, and is not read"),
        ("GOOD.YML", "GOOD.YML does not end in .yml, and is not read"),
        ("team/extra.yml", "does not stand in conf/pipelines itself, and is not read"),
        ("Extra.yml", "'Extra' is not a legal name"),
    ],
)
def test_a_file_that_would_be_overlooked_is_refused(workspace: Workspace, name: str, message: str) -> None:
    workspace.write(f"conf/pipelines/{name}", "pipeline: extra\n")

    problem = workspace.problem()

    assert problem.file == f"conf/pipelines/{name}"
    assert message in problem.message


def test_roots_are_absolute_paths_or_uris(workspace: Workspace) -> None:
    plain = load_project(workspace.root, {})
    overridden = load_project(workspace.root, {"WEIR_LAKE": "s3://bucket/lake/", "WEIR_LANDING": "/data/in/"})

    assert (plain.landing, plain.lake) == (f"{workspace.root}/landing", f"{workspace.root}/lake")
    assert (overridden.landing, overridden.lake) == ("/data/in", "s3://bucket/lake")


def test_the_root_is_found_from_the_environment_or_the_folders_above(
    workspace: Workspace, tmp_path: Path
) -> None:
    below = workspace.write("some/where/below.txt", "").parent

    assert find_root({}, below) == workspace.root
    assert find_root({"WEIR_HOME": str(tmp_path)}, ROOT) == tmp_path
    assert find_root({}, Path("/")) == ROOT


@pytest.mark.parametrize(
    "put",
    [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path), lambda path: os.symlink("gone", path)],
)
def test_a_project_whose_lakehouse_file_cannot_be_read_is_not_passed_over_for_another(
    workspace: Workspace, put: Callable[[Path], None]
) -> None:
    (workspace.root / "conf/lakehouse.yml").unlink()
    put(workspace.root / "conf/lakehouse.yml")

    assert find_root({}, workspace.root / "conf") == workspace.root
    assert {problem.file for problem in workspace.problems()} == {"conf/lakehouse.yml"}


def test_short_forms_mean_the_long_ones(workspace: Workspace) -> None:
    short = load_project(workspace.root, {}).pipelines["shop"]
    workspace.replace(
        "      order_id: bigint\n      customer_id", "      order_id: {type: bigint}\n      customer_id"
    )
    workspace.replace("key: order_id", "key: [order_id]")
    workspace.replace("event_time: ordered_at", "event_time: {column: ordered_at, future: 1 day}")

    assert load_project(workspace.root, {}).pipelines["shop"] == short


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("spark.jars.packages: x", "checked by their hashes"),
        ("spark.sql.session.timeZone: Europe/Rome", "all times are UTC"),
        ("spark.sql.streaming.kafka.failOnDataLoss: false", "never be skipped in silence"),
        ("spark.sql.files.ignoreMissingFiles: true", "lost in silence"),
        ("spark.sql.files.ignoreCorruptFiles: true", "lost in silence"),
        ("spark.databricks.delta.retentionDurationCheck.enabled: false", "VACUUM could delete files"),
        ("spark.master: yarn", "write it as master:"),
        ("spark.authenticate.secret: hush", "it would stand on a command line"),
        ("spark.submit.deployMode: cluster", "write it as deploy:"),
        ("spark.hadoop.fs.s3a.secret.key: hush", "it looks like a credential"),
        ("spark.hadoop.fs.s3a.bucket.shop.access.key: id", "it looks like a credential"),
        ("spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net: hush", "it looks like a credential"),
        ("spark.ssl.keyStorePassword: hush", "it looks like a credential"),
        ("spark.executorEnv.DB_PASSWORD: hush", "it looks like a credential"),
        ("spark.kubernetes.authenticate.submission.oauthToken: hush", "it looks like a credential"),
        ("spark.yarn.appMasterEnv.PGPASSWORD: hush", "it looks like a credential"),
        ("spark.executorEnv.APIKEY: hush", "it looks like a credential"),
        ("spark.executorEnv.SIGNING_KEY: hush", "it looks like a credential"),
        ("spark.executorEnv.DB_CREDS: hush", "it looks like a credential"),
        ("spark.executorEnv.STRIPE_KEY: hush", "it looks like a credential"),
        ("spark.executorEnv.APP_SECRETS: hush", "it looks like a credential"),
        ("spark.redis.auth: hush", "it looks like a credential"),
        ("spark.executorEnv.DB_PW: hush", "it looks like a credential"),
        ("spark.executorEnv.SESSION_COOKIE: hush", "it looks like a credential"),
        ("spark.sql.mapKeyDedupPolicy: LAST_WIN", "the last value would win in silence"),
        ("spark.sql.storeAssignmentPolicy: LEGACY", "changed in silence"),
        ("spark.sql.legacy.allowHashOnMapType: true", "in another way than the checks expect"),
        ("spark.sql.parser.escapedStringLiterals: true", "in another way than the checks read it"),
        ("spark.sql.variable.substitute: true", "in SQL is text"),
        ("spark.sql.streaming.statefulOperator.checkCorrectness.enabled: false", "lost in silence"),
        ("spark.databricks.delta.properties.defaults.appendOnly: true", "Weir sets the properties"),
        ("spark.databricks.delta.schema.autoMerge.enabled: true", "that no pipeline file declares"),
        ("spark.shop.db: jdbc:postgresql://db/shop?user=me&password=hush", "'password' may not be set"),
        ("spark.shop.store: Endpoint=x;AccountKey=hush", "'AccountKey' may not be set"),
        ("spark.shop.files: https://store.example/c?sv=1&sig=hush", "'sig' may not be set"),
        ("spark.hadoop.fs.azure.sas.files.shop.blob.core.windows.net: hush", "it looks like a credential"),
        (
            "spark.hadoop.fs.s3a.endpoint: https://me:hush@store.example",
            "an address with a password in it may not be set",
        ),
        (
            "spark.driver.extraJavaOptions: -Dproxy=http://me:hush@proxy.example:80",
            "an address with a password in it may not be set",
        ),
        (
            "spark.driver.extraJavaOptions: -Xss4m -Dstore.password=hush",
            "-D'store.password' may not be set: it looks like a credential",
        ),
        ("spark.hadoop.fs.defaultFS: hdfs:///", "paths are those of this machine"),
        ("executor.memory: 1g", "is not a Spark setting"),
        ("spark.x: [1]", "is not a value of a setting"),
    ],
)
def test_settings_that_would_break_a_guarantee_are_refused(
    workspace: Workspace, setting: str, reason: str
) -> None:
    workspace.write(
        "conf/profiles/local.yml", f"master: local[2]\nspark:\n  spark.executor.memory: 1g\n  {setting}\n"
    )

    problem = workspace.problem()

    assert (problem.file, problem.line) == ("conf/profiles/local.yml", 4)
    assert reason in problem.message
    assert "hush" not in str(vars(problem))


@pytest.mark.parametrize(
    ("master", "setting", "is_taken"),
    [
        ("local[2]", "spark.authenticate: false", False),
        ("local[2]", "spark.authenticate: 'False'", False),
        ("local[2]", "spark.authenticate: true", True),
        ("local[2]", "spark.driver.bindAddress: 0.0.0.0", False),
        ("local[2]", "spark.driver.host: 127.0.0.1", True),
        ("spark://host:7077", "spark.driver.bindAddress: 0.0.0.0", True),
    ],
)
def test_a_local_spark_stays_closed_to_others(
    workspace: Workspace, master: str, setting: str, is_taken: bool
) -> None:
    workspace.write("conf/profiles/local.yml", f"master: {master}\nspark:\n  {setting}\n")

    said = [problem.message for problem in workspace.problems()]

    assert ["could call it" in message for message in said] == [True] * (not is_taken)


def test_settings_that_say_how_a_secret_is_handled_may_be_set(workspace: Workspace) -> None:
    handled = [
        "spark.hadoop.fs.s3a.aws.credentials.provider: x.Provider", "spark.io.encryption.enabled: true",
        "spark.shuffle.sort.bypassMergeThreshold: 9", "spark.hadoop.fs.azure.sas.token.provider.type: x.Provider",
        "spark.hadoop.hadoop.security.authorization: true", "spark.hadoop.hadoop.http.authentication.cookie.domain: x",
        "spark.driver.extraJavaOptions: -Dlog.path=/var/log -Djavax.net.ssl.trustStore=/etc/store",
    ]  # fmt: skip
    workspace.write("conf/profiles/local.yml", "\n  ".join(["master: local[2]\nspark:", *handled]) + "\n")

    assert workspace.problems() == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("driver_memory: 2 GB", "right form"),
        ("driver_memory: 0g", "right form"),
        ("parallel_tables: 17", "17"),
        ("memory: 2g", "'memory' is unknown"),
    ],
)
def test_a_profile_is_strict(workspace: Workspace, line: str, message: str) -> None:
    workspace.write("conf/profiles/local.yml", f"master: local[2]\n{line}\n")

    problem = workspace.problem()

    assert (problem.line, message in problem.message) == (2, True)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("master: local[2]\ndeploy: cluster\n", 2, "a local master has no cluster"),
        (
            "master: spark://host:7077\ndeploy: cluster\n",
            2,
            "Spark runs no Python drivers inside a standalone cluster",
        ),
        ("master: yarn\n", 1, "yarn needs a staging folder"),
        ("master: yarn\nstaging: /user/weir\n", 2, "right form"),
        ("master: spark://host:7077\nstaging: hdfs:///user/weir\n", 2, "only yarn has a staging folder"),
        (
            "master: yarn\nstaging: hdfs:///user/weir\nenvironment: hdfs:///weir.zip\n",
            3,
            "is not what `weir pack` makes",
        ),
        ("master: local[2]\nenvironment: hdfs:///environment.tar\n", 2, "only yarn takes an archive"),
        ("master: k8s://https://host\n", 1, "k8s:// needs an image"),
        ("master: local[2]\nimage: weir:1\n", 2, "only k8s:// takes an image"),
        (
            "master: k8s://https://host\nimage: weir:1\ndeploy: cluster\nevent_log: true\n",
            4,
            "has no logs/spark-events",
        ),
    ],
)
def test_a_profile_that_no_engine_can_do_is_refused(
    workspace: Workspace, text: str, line: int, message: str
) -> None:
    workspace.write("conf/profiles/local.yml", text)

    problem = workspace.problem()

    assert (problem.file, problem.line, message in problem.message) == ("conf/profiles/local.yml", line, True)


@pytest.mark.parametrize(
    "text",
    [
        "master: spark://me:hush@host:7077\n",
        "master: local[2]\nlake: s3a://me:hush@bucket/lake\n",
        "master: yarn\nstaging: hdfs://me:hush@host/weir\n",
    ],
)
def test_no_place_of_a_profile_has_a_password_in_it(workspace: Workspace, text: str) -> None:
    workspace.write("conf/profiles/local.yml", text)

    problem = workspace.problem()

    assert "an address with a password in it" in problem.message
    assert "hush" not in str(vars(problem))


@pytest.mark.parametrize(
    "setting",
    [
        "spark.authenticate.secret.file: /run/secrets/spark",
        "spark.hadoop.fs.s3a.aws.credentials.provider: com.example.Keys",
        "spark.kubernetes.authenticate.submission.oauthTokenFile: /run/token",
        "spark.kubernetes.driver.secretKeyRef.DB: shop:password",
        "spark.kubernetes.executor.secretKeyRef.AWS_SECRET_ACCESS_KEY: store:key",
        "spark.kubernetes.driver.secrets.db-password: /run/secrets/db",
        "spark.io.encryption.keySizeBits: 256",
        "spark.security.credentials.hive.enabled: false",
    ],
)
def test_a_profile_may_say_where_a_secret_is(workspace: Workspace, setting: str) -> None:
    workspace.write("conf/profiles/local.yml", f"master: local[2]\nspark:\n  {setting}\n")

    assert workspace.problems() == []


@pytest.mark.system
def test_loading_imports_no_engine_and_no_sql_parser() -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from spark_jobs.config import load_project; from spark_jobs.config.graph import order_tables;"
        "p = load_project(Path('.'), {}); [order_tables(x, p.conf) for x in p.pipelines.values()];"
        "print(len(p.pipelines), sorted({'pyspark', 'sqlglot', 'deltalake', 'py4j'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "4 []\n"
