"""Where the lake is and how Spark runs: the models of conf/lakehouse.yml and conf/profiles/*.yml."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from spark_jobs.config.cron import Cron
from spark_jobs.config.names import Duration, Name, shorten

MASTER = r"^(local(\[(\*|\d+)(,\s*\d+)?\])?|yarn|spark://.+|k8s://.+)$"
# Settings that would take away a guarantee or that Weir sets from other keys: part of the name, and why.
REFUSED_SETTINGS = {
    "spark.master": "write it as master: in the profile",
    "spark.eventlog.enabled": "write it as event_log: in the profile",
    "spark.eventlog.dir": "write it as event_log: in the profile; logs are in logs/spark-events",
    "spark.driver.memory": "write it as driver_memory: in the profile",
    "spark.authenticate.secret": "it would stand on a command line; put it into spark-defaults.conf of the folder SPARK_CONF_DIR",
    "spark.submit.pyfiles": "python tables are read from conf/",
    "spark.jars.packages": "jars are fetched once at set-up and checked by their hashes, never at the start of a run",
    "spark.jars.repositories": "jars are fetched once at set-up and checked by their hashes, never at the start of a run",
    "spark.jars.ivy": "jars are fetched once at set-up and checked by their hashes, never at the start of a run",
    "spark.sql.session.timezone": "all times are UTC; another zone would move windows and event times",
    "spark.sql.ansi.enabled": "decoding relies on ANSI casts; without them wrong values become NULL in silence",
    "spark.sql.casesensitive": "columns are compared without case",
    "spark.sql.legacy.timeparserpolicy": "timestamps would be read in another way than the checks expect",
    "spark.sql.extensions": "Weir sets it, for Delta",
    "spark.sql.catalog.spark_catalog": "Weir sets it, for Delta",
    "spark.databricks.delta.v2.enablemode": "Weir sets it; the jars of other modes are not there",
    "spark.databricks.delta.retentiondurationcheck": "VACUUM could delete files that readers and streams still need",
    "deletedfileretentionduration": "VACUUM could delete files that readers and streams still need",
    "failondataloss": "rows that are gone must stop the run, never be skipped in silence",
    "ignoremissingfiles": "rows of a vanished file would be lost in silence",
    "ignorecorruptfiles": "rows of a damaged file would be lost in silence",
    "ignorechanges": "changes of a table below would be lost or doubled",
    "ignoredeletes": "changes of a table below would be lost or doubled",
    "skipchangecommits": "changes of a table below would be lost in silence",
}


def check_setting_name(value: str) -> str:
    if not value.startswith("spark."):
        raise ValueError(f"{shorten(value)} is not a Spark setting; names start with 'spark.', as in spark.executor.memory")
    for part, reason in REFUSED_SETTINGS.items():
        if part in value.lower():
            raise ValueError(f"{shorten(value)} may not be set: {reason}; remove it")
    return value


def check_setting_value(value: object) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"{shorten(value)} is not a value of a setting; write text, a number, true or false")
    return value


def check_local_folder(value: str) -> str:
    if not value or "://" in value or any(ord(character) < 32 for character in value):
        raise ValueError(f"{shorten(value)} is not a folder of this machine; write a path, as in reports")
    return value


LocalFolder = Annotated[str, AfterValidator(check_local_folder)]
SettingName = Annotated[str, AfterValidator(check_setting_name)]
Setting = Annotated[object, AfterValidator(check_setting_value)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Lakehouse(Strict):
    """The two roots, the profile that commands use unless told otherwise, and where reports are written."""

    landing: str = Field(min_length=1, description="root of the landing folders: a path (relative to the project) or a URI")
    lake: str = Field(min_length=1, description="root of the tables: a path (relative to the project) or a URI")
    profile: Name = Field("local", description="a file of conf/profiles, without .yml")
    reports: LocalFolder = Field("reports", description="folder of the data-quality reports (relative to the project)")
    keep_reports: int = Field(
        100, ge=0, le=100_000, description="how many reports are kept per pipeline; 0: runs write none, `weir report` still does"
    )
    exports: LocalFolder = Field("exports", description="root of the folders that sinks write files to (relative to the project)")
    maintenance: Cron | None = Field("17 3 * * *", description="when Airflow looks after the tables; null: only when somebody starts it")
    keep_logs: Duration = Field("30 days", description="run logs that are older are removed by `weir maintain`")


class Profile(Strict):
    """Where Spark runs, how big it is, and settings on top of Weir's."""

    master: str = Field(pattern=MASTER, description="local[*], local[2], spark://host:7077, yarn or k8s://...")
    driver_memory: str = Field("2g", pattern=r"^[1-9]\d{0,5}[mg]$", description="memory of the driver, as in 2g or 1500m")
    big_load_from_mb: int = Field(64, ge=0, le=1_000_000, description="runs with more new bytes than this take the big-load settings")
    parallel_tables: int = Field(3, ge=1, le=16, description="tables of a run that work at the same time")
    landing: str | None = Field(None, min_length=1, description="another landing root than that of conf/lakehouse.yml")
    lake: str | None = Field(None, min_length=1, description="another root of the tables than that of conf/lakehouse.yml")
    event_log: bool = Field(False, description="keep Spark's event log in logs/spark-events; `weir history` shows it")
    spark: dict[SettingName, Setting] = Field(default_factory=dict, description="further Spark settings, which win over Weir's")
