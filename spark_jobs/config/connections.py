"""How databases and brokers are reached: entries of a file that is no part of conf/, or of the environment.
Never logged, never shown.

A sink names its entry. WEIR_CONNECTIONS names the file (without it secrets/connections.yml of the project);
of an entry `warehouse`, WEIR_CONNECTION_WAREHOUSE_URL, _USER and _PASSWORD_FILE win over what the file says.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from spark_jobs.config.document import name_in_project, read_document
from spark_jobs.config.errors import ConfigError, Hinted, Problem, Withheld, did_you_mean
from spark_jobs.config.files import read_text
from spark_jobs.config.names import Model
from spark_jobs.config.validation import validate

FILE, PREFIX = "WEIR_CONNECTIONS", "WEIR_CONNECTION_"
DEFAULT_FILE = Path("secrets", "connections.yml")
ENVIRONMENT = "the environment"


def check_url(value: str) -> str:
    """The address alone: whoever may connect is said in keys of their own."""
    if not re.fullmatch(r"jdbc:postgresql://[^\s@]+", value) or re.search(
        r"[?&](user|password)=", value, re.IGNORECASE
    ):
        raise Withheld(
            "the url is not an address alone",
            "write jdbc:postgresql://host:port/database, with user and password_file beside it",
        )
    return value


class Entry(Model):
    """One entry of the connections file."""

    url: Annotated[str, AfterValidator(check_url)] | None = Field(
        None, description="jdbc:postgresql://host:port/database"
    )
    user: str | None = Field(None, min_length=1, description="who connects")
    password_file: str | None = Field(
        None,
        min_length=1,
        description="a file with the password and nothing else, readable by its owner alone",
    )
    settings_file: str | None = Field(
        None,
        min_length=1,
        description="kafka: a file of key=value lines for its client, readable by its owner alone",
    )


@dataclass(frozen=True)
class Connection:
    """What it takes to connect. The password shows in no repr."""

    name: str
    url: str | None
    user: str | None
    password: str | None = field(repr=False)
    settings: Mapping[str, str] = field(repr=False, default_factory=dict)


def read_connection(
    root: Path, name: str, environ: Mapping[str, str] = os.environ, *, needs_url: bool = False
) -> Connection:
    """The entry of this name; ConfigError, without any secret in it, where it is not there or not safe."""
    path = Path(environ.get(FILE) or root / DEFAULT_FILE)
    shown = name_in_project(path, root)
    entries = _read_entries(path, shown)
    prefix = f"{PREFIX}{name.upper()}_"
    given = {
        key: environ[f"{prefix}{key.upper()}"]
        for key in Entry.model_fields
        if environ.get(f"{prefix}{key.upper()}")
    }
    if name not in entries and not given:
        hint = (
            f"{did_you_mean(name, entries)}; add it to {shown}, or set {prefix}URL, {prefix}USER and"
            f" {prefix}PASSWORD_FILE"
        )
        raise ConfigError([Problem(shown, 1, name, name, f"there is no connection {name!r}", hint)])
    known = entries[name].model_dump(exclude_none=True) if name in entries else {}
    entry = Entry.model_validate({**known, **_checked(given, prefix)})
    if needs_url and entry.url is None:
        raise ConfigError(
            [
                Problem(
                    shown, 1, name, None, f"the connection {name!r} has no url", f"add it, or set {prefix}URL"
                )
            ]
        )
    password = _read_secret(path.parent, entry.password_file, shown, name)
    settings = _read_secret(path.parent, entry.settings_file, shown, name)
    return Connection(
        name, entry.url, entry.user, password.rstrip("\n") if password else None, _settings(settings or "")
    )


def mend_login(connection: str | None) -> str:
    """What to do about a broker that does not let somebody in."""
    if connection is None:
        return "name a `connection` whose settings_file lets Weir in (docs/pipeline-file.md, Connections)"
    where = f"the settings_file of the connection {connection!r}"
    return (
        f"correct {where} (user and password in sasl.jaas.config, certificates in PEM files), or what the"
        " user may do at the broker"
    )


def _checked(given: Mapping[str, str], prefix: str) -> Mapping[str, str]:
    """What the environment says; ConfigError, which names the variable and not its value, where it cannot be
    used.
    """
    if "url" in given:
        try:
            check_url(given["url"])
        except Hinted as error:
            raise ConfigError(
                [Problem(ENVIRONMENT, 1, f"{prefix}URL", None, error.message, error.hint)]
            ) from None
    return given


def _read_entries(path: Path, shown: str) -> dict[str, Entry]:
    if not path.is_file():
        return {}
    document = read_document(path, shown)
    return {name: validate(Entry, document, (name,)) for name in document.data}


def _read_secret(folder: Path, file: str | None, shown: str, name: str) -> str | None:
    if file is None:
        return None
    path = folder / file
    if not path.is_file():
        raise ConfigError(
            [
                Problem(
                    shown,
                    1,
                    name,
                    file,
                    f"there is no file {file!r}",
                    "paths begin at the folder of the connections file",
                )
            ]
        )
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError([Problem(shown, 1, name, file, f"others may read {file!r}", f"chmod 600 {file}")])
    return read_text(path)


def _settings(text: str) -> dict[str, str]:
    """Lines of key=value; one that ends in a backslash goes on in the next."""
    lines = [
        line.strip()
        for line in re.sub(r"\\\n[ \t]*", "", text).splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
