"""Where the lake is and how Spark runs: the models of conf/lakehouse.yml and conf/profiles/*.yml."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from spark_jobs.config.errors import Hinted
from spark_jobs.config.names import Cron, Duration, Name, shorten
from spark_jobs.config.spark_settings import Address, Setting, SettingName, check_local

MASTER = r"^(local(\[(\*|\d+)(,\s*\d+)?\])?|yarn|spark://.+|k8s://.+)$"


def check_local_folder(value: str) -> str:
    if not value or "://" in value or any(ord(character) < 32 for character in value):
        raise Hinted(f"{shorten(value)} is not a folder of this machine", "write a path, as in reports")
    return value


def check_variable(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\*?", value):
        raise Hinted(
            f"{shorten(value)} is not the name of a variable",
            "write BILLING_TOKEN, or BILLING_* for all that begin so",
        )
    if value.startswith("AIRFLOW__"):
        raise Hinted(
            f"{shorten(value)} is a setting of Airflow, whose keys are among them: runs never get these",
            "write another name",
        )
    return value


LocalFolder = Annotated[str, AfterValidator(check_local_folder)]
Variable = Annotated[str, AfterValidator(check_variable)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Lakehouse(Strict):
    """The two roots, the profile that commands use unless told otherwise, and where reports are written."""

    landing: Address = Field(
        min_length=1, description="root of the landing folders: a path (relative to the project) or a URI"
    )
    lake: Address = Field(
        min_length=1, description="root of the tables: a path (relative to the project) or a URI"
    )
    profile: Name = Field("local", description="a file of conf/profiles, without .yml")
    reports: LocalFolder = Field(
        "reports", description="folder of the data-quality reports (relative to the project)"
    )
    keep_reports: int = Field(
        100,
        ge=0,
        le=100_000,
        description="how many reports are kept per pipeline; 0: runs write none, `weir report` still does",
    )
    exports: LocalFolder = Field(
        "exports", description="root of the folders that sinks write files to (relative to the project)"
    )
    maintenance: Cron | None = Field(
        "17 3 * * *", description="when Airflow looks after the tables; null: only when somebody starts it"
    )
    keep_logs: Duration = Field(
        "30 days", description="run logs that are older are removed by `weir maintain`"
    )
    hand_on: list[Variable] = Field(
        [],
        max_length=100,
        description=(
            "variables of your own that runs get of Airflow's environment, as in BILLING_TOKEN or BILLING_*"
        ),
    )


class Profile(Strict):
    """Where Spark runs, how big it is, what is shipped there, and settings on top of Weir's."""

    master: Address = Field(
        pattern=MASTER, description="local[*], local[2], spark://host:7077, yarn or k8s://..."
    )
    deploy: Literal["client", "cluster"] = Field(
        "client",
        description=(
            "where the driver runs: client (in the command itself) or cluster (yarn and k8s:// alone)"
        ),
    )
    staging: Address | None = Field(
        None,
        validate_default=True,
        pattern=r"^[a-z0-9]+://.+$",
        description="yarn: where Spark puts what it ships, as in hdfs:///user/weir",
    )
    environment: Address | None = Field(
        None,
        min_length=1,
        description="yarn: where the archive of `weir pack` was put, as in hdfs:///apps/weir/environment.tar",
    )
    image: str | None = Field(
        None, min_length=1, validate_default=True, description="k8s://: the image of drivers and executors"
    )
    shared_folders: bool = Field(
        False,
        description=(
            "deploy: cluster: folders of this machine (landing, lake, exports) are at the same paths there,"
            " and locks hold"
        ),
    )
    driver_memory: str = Field(
        "2g", pattern=r"^[1-9]\d{0,5}[mg]$", description="memory of the driver, as in 2g or 1500m"
    )
    big_load_from_mb: int = Field(
        16,
        ge=0,
        le=1_000_000,
        description="runs with more MB of new records than this, unpacked, take the big-load settings",
    )
    parallel_tables: int = Field(3, ge=1, le=16, description="tables of a run that work at the same time")
    landing: Address | None = Field(
        None, min_length=1, description="another landing root than that of conf/lakehouse.yml"
    )
    lake: Address | None = Field(
        None, min_length=1, description="another root of the tables than that of conf/lakehouse.yml"
    )
    event_log: bool = Field(
        False, description="keep Spark's event log in logs/spark-events; `weir history` shows it"
    )
    spark: dict[SettingName, Setting] = Field(
        default_factory=dict, description="further Spark settings, which win over Weir's"
    )

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    @property
    def is_yarn(self) -> bool:
        return self.master == "yarn"

    @property
    def is_kubernetes(self) -> bool:
        return self.master.startswith("k8s://")

    @field_validator("deploy")
    @classmethod
    def _check_deploy(cls, deploy: str, found: ValidationInfo) -> str:
        master = found.data.get("master", "")
        if deploy == "cluster" and master.startswith("local"):
            raise Hinted(
                "a local master has no cluster to run the driver in",
                "write client, or another master: yarn, k8s://...",
            )
        if deploy == "cluster" and master.startswith("spark://"):
            raise Hinted(
                "Spark runs no Python drivers inside a standalone cluster",
                "write client, or another master: yarn or k8s://...",
            )
        return deploy

    @field_validator("spark")
    @classmethod
    def _check_spark(cls, spark: dict[str, object], found: ValidationInfo) -> dict[str, object]:
        if str(found.data.get("master", "")).startswith("local"):
            check_local(spark)
        return spark

    @field_validator("staging")
    @classmethod
    def _check_staging(cls, staging: str | None, found: ValidationInfo) -> str | None:
        is_yarn = found.data.get("master") == "yarn"
        if is_yarn and staging is None:
            raise Hinted(
                "yarn needs a staging folder that all its hosts reach",
                "write its URI, as in hdfs:///user/weir",
            )
        if staging is not None and not is_yarn:
            raise Hinted("only yarn has a staging folder", "remove it")
        return staging

    @field_validator("environment")
    @classmethod
    def _check_environment(cls, environment: str | None, found: ValidationInfo) -> str | None:
        if environment is not None and found.data.get("master") != "yarn":
            raise Hinted(
                "only yarn takes an archive of the environment",
                "remove it: k8s:// has an image, other hosts this project",
            )
        if environment is not None and not environment.endswith(".tar"):
            raise Hinted(
                f"{shorten(environment)} is not what `weir pack` makes", "write the place of environment.tar"
            )
        return environment

    @field_validator("image")
    @classmethod
    def _check_image(cls, image: str | None, found: ValidationInfo) -> str | None:
        is_kubernetes = found.data.get("master", "").startswith("k8s://")
        if is_kubernetes and image is None:
            raise Hinted(
                "k8s:// needs an image", "write the one that docker/Dockerfile makes as target kubernetes"
            )
        if image is not None and not is_kubernetes:
            raise Hinted("only k8s:// takes an image", "remove it")
        return image

    @field_validator("event_log")
    @classmethod
    def _check_event_log(cls, event_log: bool, found: ValidationInfo) -> bool:
        if event_log and found.data.get("deploy") == "cluster":
            raise Hinted(
                "a driver in the cluster has no logs/spark-events",
                "write false, and set up the cluster's own history server for it",
            )
        return event_log
