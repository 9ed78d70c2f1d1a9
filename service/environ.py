"""The environment that Airflow's processes get: this project's home, DAGs and plugins, and nothing of another
Airflow of the caller.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from service.keys import USER, Keys

HOST = "127.0.0.1"
MARKER = "WEIR_SERVICE"
"""Set in the environment of every process that `up` starts, and so of all that these start."""
USERS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"
OWN_SETTING = "WEIR_AIRFLOW__"
"""WEIR_AIRFLOW__CORE__PARALLELISM=4 reaches Airflow as AIRFLOW__CORE__PARALLELISM, and wins over what is set
here.
"""


@dataclass(frozen=True)
class Settings:
    """What a service is started with. `database` is a SQLAlchemy URL; without one Airflow keeps a SQLite file
    in its home.
    """

    root: Path
    port: int
    database: str | None
    marker: str

    @property
    def home(self) -> Path:
        return airflow_home(self.root)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


def airflow_home(root: Path) -> Path:
    return root / "airflow_home"


def airflow_command(root: Path) -> Path:
    return root / ".envs" / "airflow" / "bin" / "airflow"


def airflow_environ(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, but never the caller's Airflow: its settings could name another database."""
    kept = {name: value for name, value in environ.items() if not name.startswith("AIRFLOW_")}
    home = airflow_home(root)
    return kept | {
        "AIRFLOW_HOME": str(home),
        # Airflow writes where these were into airflow.cfg once: a home that was moved, copied or restored
        # elsewhere would go on with the database and the logs of the old place.
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__LOGGING__DAG_PROCESSOR_CHILD_PROCESS_LOG_DIRECTORY": str(home / "logs" / "dag_processor"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(root / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(root / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONUNBUFFERED": "1",  # lines come as they are written, not when a buffer is full
        "WEIR_HOME": str(root),
    }


def service_environ(settings: Settings, keys: Keys, environ: Mapping[str, str]) -> dict[str, str]:
    """What all four processes share. Only the API server listens, and only on the loopback address."""
    made = airflow_environ(settings.root, environ) | {
        "AIRFLOW__API__HOST": HOST,
        "AIRFLOW__API__PORT": str(settings.port),
        "AIRFLOW__API__BASE_URL": settings.url,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{settings.url}/execution/",
        "AIRFLOW__CORE__HOSTNAME_CALLABLE": "socket.gethostname",  # no name server is asked
        # a process waits for each; a pipeline runs one task at a time anyway
        "AIRFLOW__CORE__PARALLELISM": "8",
        "AIRFLOW__CORE__FERNET_KEY": keys.fernet_key,
        "AIRFLOW__API__SECRET_KEY": keys.secret_key,
        "AIRFLOW__API_AUTH__JWT_SECRET": keys.jwt_secret,
        USERS: ",".join(filter(None, [f"{USER}:admin", environ.get("WEIR_USERS", "").strip()])),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(keys.password_file),
        # else a process that gives itself a title writes it over its environment, and with it over the marker
        "SPT_NOENV": "1",
        MARKER: settings.marker,
    }
    if settings.database:
        made["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = settings.database
    for name in ("no_proxy", "NO_PROXY"):  # tasks report to the API server, and never through a proxy
        made[name] = ",".join(filter(None, [environ.get(name), HOST]))
    given = {
        name.removeprefix("WEIR_"): value for name, value in environ.items() if name.startswith(OWN_SETTING)
    }
    return made | given
