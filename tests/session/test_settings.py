"""What the driver and executors elsewhere are told, and what other users of the machine are not."""

import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark_jobs.config.lakehouse import Profile
from spark_jobs.session.hosts import Hosts
from spark_jobs.session.settings import WORKLOAD, Workload, spark_settings, storage_settings

KEYS = {"AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": "a-key"}


def test_executors_are_told_where_the_store_is_and_no_key() -> None:
    settings = storage_settings(
        ["s3a://bucket/lake"], {**KEYS, "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": "https://store"}
    )

    told = {name: value for name, value in settings.items() if name.startswith("spark.executorEnv.")}
    assert told == {
        "spark.executorEnv.AWS_REGION": "eu-central-1",
        "spark.executorEnv.AWS_ENDPOINT_URL": "https://store",
    }
    assert not set(settings.values()) & set(KEYS.values())


@pytest.mark.parametrize("workload", Workload)
def test_a_jvm_without_memory_ends_instead_of_waiting_for_ever(workload: Workload) -> None:
    nowhere = Path("/nowhere")
    settings = spark_settings(
        Profile.model_validate({"master": "local[2]"}), workload, 2, nowhere, nowhere, nowhere, nowhere
    )
    assert '"-XX:+ExitOnOutOfMemoryError"' in settings["spark.driver.extraJavaOptions"].split()


@pytest.fixture
def options() -> list[set[str]]:
    """What the JVMs of the driver and of executors elsewhere are started with."""
    nowhere = Path("/nowhere")
    hosts = Hosts(jars="/jars", log4j="/log4j", log="/log", code="/code")
    settings = spark_settings(
        Profile.model_validate({"master": "yarn", "staging": "hdfs:///weir"}),
        Workload.BIG,
        2,
        nowhere,
        nowhere,
        nowhere,
        nowhere,
        hosts=hosts,
    )
    return [set(settings[f"spark.{side}.extraJavaOptions"].split()) for side in ("driver", "executor")]


def test_letters_become_great_and_small_in_one_language_on_every_machine(options: list[set[str]]) -> None:
    """With LANG=tr_TR Spark's `upper` would give other values, and other keys, than on the next machine."""
    for given in options:
        assert {'"-Duser.language=en"', '"-Duser.timezone=UTC"'} <= given


def test_xml_in_a_value_is_bounded_in_its_depth(options: list[set[str]]) -> None:
    """`xpath_string(x, 'a')` of 50,000 elements within each other was a StackOverflowError."""
    for given in options:
        assert '"-Djdk.xml.maxElementDepth=1000"' in given


@pytest.mark.parametrize("workload", Workload)
def test_a_session_knows_the_settings_that_it_was_made_with(workload: Workload) -> None:
    nowhere = Path("/nowhere")
    settings = spark_settings(
        Profile.model_validate({"master": "local[2]"}), workload, 2, nowhere, nowhere, nowhere, nowhere
    )
    assert settings[WORKLOAD] == workload.value


@pytest.mark.spark
def test_a_local_spark_asks_for_a_secret_that_stands_on_no_command_line(spark: SparkSession) -> None:
    security = spark.sparkContext._jsc.sc().env().securityManager()
    command = Path("/proc", str(SparkContext._gateway.proc.pid), "cmdline").read_text()  # type: ignore[union-attr]

    assert security.isAuthenticationEnabled()
    assert len(security.getSecretKey()) >= 32
    assert security.getSecretKey() not in command


@pytest.mark.spark
def test_nobody_else_on_the_machine_may_call_pythons_functions_or_keep_its_state(spark: SparkSession) -> None:
    gateway: Any = spark.sparkContext._gateway
    folder = Path(str(spark.sparkContext.getConf().get("spark.python.unix.domain.socket.dir")))

    answer = b""
    with (
        socket.create_connection(("127.0.0.1", gateway._python_proxy_port), timeout=60) as stranger,
        suppress(ConnectionResetError),
    ):
        stranger.sendall(b"c\np0\ncall\ne\n")
        answer = stranger.recv(1)

    assert (answer, stat.S_IMODE(folder.stat().st_mode)) == (b"", 0o700)
