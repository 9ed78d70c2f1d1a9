"""Where the hosts of a cluster find what a run needs, and what is shipped for that.

Standalone: this project, at the same path. YARN: the archive of `weir pack` and one of the project, which
YARN unpacks beside each other into the folder of every container. Kubernetes: the image.
"""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from spark_jobs.config.lakehouse import Profile
from spark_jobs.session.install import Installation, NotInstalled
from spark_jobs.session.pack import COMMAND, JARS, SPARK_JARS, known_environment

SUBMITTED = "WEIR_SUBMITTED"
"""Set for a driver inside a cluster: where it puts its result (cli/driver.py)."""
TYPED_BY = "WEIR_TYPED_BY"
"""Set for such a driver as well: who typed the command that it does."""
SHIPPED_FOLDERS = ("conf", "expectations")
"""What of a project is shipped. Neither secrets/ nor .env nor a landed file is below them."""
GATEWAY = "/weir-environment"
"""Spark writes this as the folder of a container's environment on class paths
(spark.yarn.config.gatewayPath).
"""
IMAGE_HOME = "/opt/weir"
DRIVER = "spark_jobs/cli/driver.py"


@dataclass(frozen=True)
class Hosts:
    """Places on every host: the jars, the logging's file and where it writes, the folder of Weir's code; and
    settings to get there.
    """

    jars: str
    log4j: str
    log: str
    code: str
    settings: dict[str, str] = field(default_factory=dict)


@contextmanager
def hosts_of(profile: Profile, installed: Installation, root: Path) -> Iterator[Hosts | None]:
    """What to tell Spark of the hosts; None where there are none but this one. What is shipped is there for
    the block.
    """
    if profile.is_local or is_driver_in_cluster():
        yield None
    elif profile.is_yarn:
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise NotInstalled(
                "HADOOP_CONF_DIR is not set: it names the folder with core-site.xml and yarn-site.xml of the"
                " cluster"
            )
        environment = profile.environment or known_environment(installed).as_uri()
        with tempfile.TemporaryDirectory(prefix="weir-ship-") as scratch:
            project = Path(scratch, "project.zip")
            pack_project(root, project)
            yield _on_yarn(str(profile.staging), environment, project)
    elif profile.is_kubernetes:
        yield _on_kubernetes(str(profile.image))
    else:
        yield Hosts(str(installed.jars), str(root / "conf" / "log4j2.properties"), "executor.log", str(root))


def is_driver_in_cluster() -> bool:
    return SUBMITTED in os.environ


def pack_project(root: Path, archive: Path) -> None:
    """Weir's code and the project's configuration."""
    package = Path(__file__).resolve().parents[1]
    folders = {package: package.name, **{root / name: name for name in SHIPPED_FOLDERS}}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for folder, name in folders.items():
            for file in sorted(folder.rglob("*")):
                inside = file.relative_to(folder)
                if file.is_file() and not any(
                    part == "__pycache__" or part.startswith(".") for part in inside.parts
                ):
                    zipped.write(file, f"{name}/{inside.as_posix()}")


def _on_yarn(staging: str, environment: str, project: Path) -> Hosts:
    settings = {
        "spark.yarn.stagingDir": staging,
        # Not spark.archives: by that each executor would fetch them from the driver once more, and unpack
        # them without their modes.
        "spark.yarn.dist.archives": f"{environment}#environment,{project.as_uri()}#project",
        "spark.pyspark.python": f"./environment/{COMMAND}",
        # Spark's own jars are in the environment: without this all of them would be zipped and uploaded again
        # for every run.
        "spark.yarn.jars": f"local:{GATEWAY}/{SPARK_JARS}/*",
        "spark.yarn.config.gatewayPath": GATEWAY,
        "spark.yarn.config.replacementPath": "{{PWD}}/environment",
    }
    return Hosts(
        f"{GATEWAY}/{JARS}", "project/conf/log4j2.properties", "<LOG_DIR>/weir.log", "project", settings
    )


def _on_kubernetes(image: str) -> Hosts:
    settings = {
        "spark.kubernetes.container.image": image,
        "spark.pyspark.python": f"{IMAGE_HOME}/.envs/spark/bin/python",
    }
    return Hosts(
        f"{IMAGE_HOME}/.envs/jars",
        f"{IMAGE_HOME}/conf/log4j2.properties",
        "/dev/stdout",
        IMAGE_HOME,
        settings,
    )
