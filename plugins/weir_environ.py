"""Which environment variables a `weir` command, its JVM, hooks and sinks get of Airflow's own: an allow-list.

Airflow's processes hold the keys by which it signs logins and encrypts connections (AIRFLOW__…). A load needs
none of them, and Spark may show or hand on what it was started with.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from spark_jobs.config import ConfigError
from spark_jobs.config.loading import load_lakehouse

SYSTEM = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
)
LIBRARIES = (
    "LD_LIBRARY_PATH",
    "PYTHON*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
PROXIES = tuple(
    name
    for kind in ("http", "https", "ftp", "all", "no")
    for name in (f"{kind}_proxy", f"{kind}_proxy".upper())
)
ENGINE = ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_*", "PYSPARK_*", "HADOOP_*", "YARN_*")
CLUSTERS = ("KUBECONFIG", "KUBERNETES_*", "KRB5_CONFIG", "KRB5CCNAME")
STORES = ("AWS_*",)
TELEMETRY = ("OTEL_*",)
HANDED_ON = (*SYSTEM, *LIBRARIES, *PROXIES, *ENGINE, *CLUSTERS, *STORES, *TELEMETRY, "WEIR_*")
NEVER = ("AIRFLOW__*", "WEIR_AIRFLOW*")
"""The second become the first in `make up`; the address of Airflow's database, with its password, is among
them.
"""


def handed_on(environ: Mapping[str, str], own: Iterable[str] = ()) -> dict[str, str]:
    """The variables that a command gets: those above, and the `own` ones that conf/lakehouse.yml names."""
    allowed = (*HANDED_ON, *own)
    return {
        name: value for name, value in environ.items() if _is_any(name, allowed) and not _is_any(name, NEVER)
    }


def own_variables(root: Path) -> tuple[str, ...]:
    """What hand_on in conf/lakehouse.yml names. None where the file cannot be used: the command that is
    started says so.
    """
    try:
        return tuple(load_lakehouse(root).hand_on)
    except ConfigError:
        return ()


def _is_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
