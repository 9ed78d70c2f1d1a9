"""The pods that Spark would ask Kubernetes for: made by Spark's own code from Weir's settings, held to the
schema of Kubernetes' API.

There is no Kubernetes here that could run them. What the image does with their arguments and environment is
tried as far as its script.
"""

import json
import os
import re
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from pyspark.sql import SparkSession

from spark_jobs.config.loading import load_project
from spark_jobs.run.submit import driver_settings, main_file
from spark_jobs.session.hosts import SUBMITTED, hosts_of
from spark_jobs.session.install import Installation
from tests.conftest import ROOT

pytestmark = pytest.mark.system

DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
TICKET = "s3a://lake/retail/_weir/submitted/0123"
ENVIRON = {"WEIR_LAKE": "s3a://lake", "WEIR_LANDING": "s3a://landing"}
SPARK_SECRET = "a-secret-of-the-test"
SECRETS = {"AWS_SECRET_ACCESS_KEY": "a-key-of-the-test", "AWS_ACCESS_KEY_ID": "an-id-of-the-test"}


@pytest.fixture(scope="module")
def pods(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The driver's pod and an executor's, as they would be posted."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {**SECRETS, "AWS_REGION": "eu-central-1"}.items():
            patched.setenv(name, value)
        project = load_project(ROOT, ENVIRON, only="retail")
        profile, installed = project.profiles["kubernetes"], Installation(ROOT)
        with hosts_of(profile, installed, ROOT) as hosts:
            assert hosts is not None
            settings = driver_settings(project, "retail", profile, installed, hosts, {SUBMITTED: TICKET})
            main = main_file(hosts)
    # in the driver's pod, which makes those of executors
    mounted = tmp_path_factory.mktemp("mounted") / "spark_secret"
    mounted.write_text(SPARK_SECRET, encoding="utf-8")
    seen_by_driver = settings | {"spark.authenticate.secret.driver.file": str(mounted)}
    return {"driver": driver_pod(spark, settings, main), "executor": executor_pod(spark, seen_by_driver)}


def driver_pod(spark: SparkSession, settings: Mapping[str, str], main: str) -> dict[str, Any]:
    jvm, arguments = spark.sparkContext._jvm, ["run", "retail", "--profile", "kubernetes"]
    assert jvm is not None
    submit = jvm.org.apache.spark.deploy.k8s.submit
    array = spark.sparkContext._gateway.new_array(jvm.java.lang.String, len(arguments))  # type: ignore[union-attr]
    for number, argument in enumerate(arguments):
        array[number] = argument
    conf, resource, python = (
        _conf(jvm, settings),
        submit.PythonMainAppResource(main),
        "org.apache.spark.deploy.PythonRunner",
    )
    driver = jvm.org.apache.spark.deploy.k8s.KubernetesConf.createDriverConf(
        conf, "spark-0123", resource, python, array, jvm.scala.Option.empty()
    )
    built = submit.KubernetesDriverBuilder().buildFromFeatures(driver, _client(jvm))
    return _pod(jvm, built.pod())


def executor_pod(spark: SparkSession, settings: Mapping[str, str]) -> dict[str, Any]:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    conf = _conf(
        jvm,
        {
            **settings,
            "spark.driver.host": "driver",
            "spark.driver.port": "7078",
            "spark.app.id": "spark-0123",
        },
    )
    executor = jvm.org.apache.spark.deploy.k8s.KubernetesConf.createExecutorConf(
        conf, "1", "spark-0123", jvm.scala.Option.empty(), 0
    )
    entries = _object(jvm.org.apache.spark.internal.config, "package")
    security = jvm.org.apache.spark.SecurityManager(
        conf, jvm.scala.Option.empty(), entries.AUTH_SECRET_FILE_DRIVER()
    )
    profile = _object(jvm.org.apache.spark.resource, "ResourceProfile").getOrCreateDefaultProfile(conf)
    builder = jvm.org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder()
    return _pod(jvm, builder.buildFromFeatures(executor, security, _client(jvm), profile).pod())


def test_the_pods_are_what_kubernetes_takes(pods: dict[str, dict[str, Any]]) -> None:
    for pod in pods.values():
        kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)


def test_the_image_is_that_of_the_profile_and_everything_stands_where_it_puts_it(
    pods: dict[str, dict[str, Any]],
) -> None:
    assert {container(pod)["image"] for pod in pods.values()} == {"registry.example/weir:0.1.0"}
    driver = container(pods["driver"])
    assert driver["args"][-5:] == [
        "local:///opt/weir/spark_jobs/cli/driver.py",
        "run",
        "retail",
        "--profile",
        "kubernetes",
    ]
    assert "ENV WEIR_HOME=/opt/weir" in DOCKERFILE
    assert "COPY spark_jobs/ spark_jobs/" in DOCKERFILE
    assert environment(pods["driver"])["WEIR_SUBMITTED"] == TICKET
    assert environment(pods["driver"])["WEIR_LAKE"] == "s3a://lake"
    assert environment(pods["executor"])["SPARK_CLASSPATH"] == "/opt/weir/.envs/jars/*"


def test_secrets_are_mounted_and_stand_in_no_pod(pods: dict[str, dict[str, Any]]) -> None:
    for pod in pods.values():
        assert {"name": "weir-volume", "secret": {"secretName": "weir"}} in pod["spec"]["volumes"]
        assert {"name": "weir-volume", "mountPath": "/run/secrets/weir"} in container(pod)["volumeMounts"]
        assert [value for value in (*SECRETS.values(), SPARK_SECRET) if value in json.dumps(pod)] == []
        assert [name for name in environment(pod) if "SECRET" in name or name.startswith("AWS_ACCESS")] == []


def test_the_image_starts_what_the_pods_ask_for(pods: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    script = (ROOT / "docker" / "kubernetes.sh").read_text(encoding="utf-8")
    assert (
        '\nENTRYPOINT ["/bin/sh", "/opt/weir/docker/kubernetes.sh"]\n'
        in DOCKERFILE.partition("FROM spark AS kubernetes")[2]
    )
    here = tmp_path / "kubernetes.sh"
    here.write_text(
        re.sub(r"^spark_home=.*$", f"spark_home={tmp_path}", script, flags=re.MULTILINE), encoding="utf-8"
    )
    for command in ("java", "bin/spark-submit"):
        file = tmp_path / command
        file.parent.mkdir(exist_ok=True)
        file.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    started = {
        name: (
            subprocess.run(
                ["/bin/sh", here, *container(pod)["args"]],
                env=environ | environment(pod),
                capture_output=True,
                text=True,
                check=True,
            ).stdout.splitlines()
        )
        for name, pod in pods.items()
    }

    assert (
        started["driver"][-len(container(pods["driver"])["args"]) + 1 :]
        == container(pods["driver"])["args"][1:]
    )
    assert started["driver"][:2] == ["--deploy-mode", "client"]
    backend = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    assert "-Duser.timezone=UTC" in started["executor"][: started["executor"].index(backend)]
    asked = dict(zip(*[iter(started["executor"][started["executor"].index(backend) + 1 :])] * 2, strict=True))
    assert asked["--driver-url"] == "spark://CoarseGrainedScheduler@driver:7078"
    assert (asked["--executor-id"], asked["--app-id"], asked["--resourceProfileId"]) == (
        "1",
        "spark-0123",
        "0",
    )


def container(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["spec"]["containers"][0]
    return found


def environment(pod: dict[str, Any]) -> dict[str, str]:
    """With what Kubernetes fills in when the pod starts."""
    return {entry["name"]: entry.get("value", "10.0.0.1") for entry in container(pod)["env"]}


def _conf(jvm: Any, settings: Mapping[str, str]) -> Any:
    conf = jvm.org.apache.spark.SparkConf(False)
    for name, value in {**settings, "spark.submit.deployMode": "cluster"}.items():
        conf.set(name, value)
    return conf


def _object(package: Any, name: str) -> Any:
    """An object of Scala."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _client(jvm: Any) -> Any:
    """It is asked nothing while pods are built."""
    return jvm.io.fabric8.kubernetes.client.KubernetesClientBuilder().build()


def _pod(jvm: Any, spark_pod: Any) -> dict[str, Any]:
    to_json = jvm.io.fabric8.kubernetes.client.utils.Serialization.asJson
    pod: dict[str, Any] = json.loads(to_json(spark_pod.pod()))
    pod["spec"]["containers"] = [json.loads(to_json(spark_pod.container()))]
    return pod
