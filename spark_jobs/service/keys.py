"""The keys that Airflow signs and encrypts with, and the password of its user: made once, kept in files that only their owner can read."""

import base64
import json
import os
import secrets
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
    """The keys in Airflow's home. A new Airflow gets new ones; an old one keeps its own, or what it encrypted could not be read."""
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


def ensure_password(keys: Keys) -> str | None:
    """Makes the user's password where there is none, and returns it this one time."""
    if keys.password_file.exists():
        return None
    password = secrets.token_urlsafe(PASSWORD_CHARACTERS)[:PASSWORD_CHARACTERS]
    write_private(keys.password_file, json.dumps({USER: password}) + "\n")
    return password


def write_private(path: Path, text: str) -> None:
    """A file for its owner alone, whole or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
