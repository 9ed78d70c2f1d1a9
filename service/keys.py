"""The keys that Airflow signs and encrypts with, and the passwords of users: made once, kept in files that
only their owner can read.
"""

import base64
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

USER = "admin"
PASSWORD_CHARACTERS = 20


@dataclass(frozen=True)
class Keys:
    """Never printed: `repr` shows no value."""

    fernet_key: str
    secret_key: str
    jwt_secret: str
    password_file: Path

    def __repr__(self) -> str:
        return "Keys(…)"


def ensure_keys(home: Path) -> Keys:
    """The keys in Airflow's home. A new Airflow gets new ones; an old one keeps its own, or what it encrypted
    could not be read.
    """
    path = home / "keys.json"
    if not path.exists():
        made = {
            "fernet_key": base64.urlsafe_b64encode(os.urandom(32)).decode(),
            "secret_key": secrets.token_urlsafe(32),
            "jwt_secret": secrets.token_urlsafe(64),
        }
        write_private(path, json.dumps(made))
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Keys(kept["fernet_key"], kept["secret_key"], kept["jwt_secret"], home / "passwords.json")


def ensure_home(home: Path) -> None:
    """Makes Airflow's home for its owner alone: Airflow writes settings, keys and logs into it with the
    caller's umask.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.chmod(0o700)


def read_passwords(keys: Keys) -> dict[str, str]:
    """Of all users, as they are kept."""
    kept: dict[str, str] = (
        json.loads(keys.password_file.read_text(encoding="utf-8") or "{}")
        if keys.password_file.exists()
        else {}
    )
    return kept


def ensure_passwords(keys: Keys, users: Iterable[str]) -> dict[str, str]:
    """Makes the passwords of users who have none, and returns these, this one time. Airflow would make them
    as well, and log them.
    """
    kept = read_passwords(keys)
    made = {
        user: secrets.token_urlsafe(PASSWORD_CHARACTERS)[:PASSWORD_CHARACTERS]
        for user in users
        if user not in kept
    }
    if made:
        write_passwords(keys, kept | made)
    return made


def write_passwords(keys: Keys, passwords: Mapping[str, str]) -> None:
    """Writes the passwords of all users; without any there is no file."""
    if passwords:
        write_private(keys.password_file, json.dumps(dict(passwords)) + "\n")
    else:
        keys.password_file.unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """A file for its owner alone, whole or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(
        os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)
    fresh.replace(path)
