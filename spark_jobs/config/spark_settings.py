"""Which of Spark's settings a profile may make: none that Weir depends on, and no secret."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator

from spark_jobs.config.errors import Hinted, Withheld
from spark_jobs.config.names import shorten

CUTS_PLANS = "spark.weir.cutsPlans"
"""A setting of Weir's own among Spark's: whether rows that a batch keeps lose the plan by which they were
computed.
"""
LOOPBACK = "127.0.0.1"
# Settings that would take away a guarantee or that Weir sets from other keys: part of the name, and why.
REFUSED_SETTINGS = {
    "spark.weir.": "Weir sets it by the size of the work",
    "spark.master": "write it as master: in the profile",
    "spark.eventlog.enabled": "write it as event_log: in the profile",
    "spark.eventlog.dir": "write it as event_log: in the profile; logs are in logs/spark-events",
    "spark.driver.memory": "write it as driver_memory: in the profile",
    "spark.authenticate.secret": (
        "it would stand on a command line; put it into spark-defaults.conf of the folder SPARK_CONF_DIR"
    ),
    "spark.submit.deploymode": "write it as deploy: in the profile",
    "spark.kubernetes.container.image": "write it as image: in the profile",
    "spark.archives": "Weir ships the environment and the project itself",
    "spark.yarn.dist.archives": "Weir ships the environment and the project by it",
    "spark.yarn.stagingdir": "write it as staging: in the profile",
    "spark.hadoop.fs.defaultfs": "Weir sets it: paths are those of this machine, for Spark as for Python",
    "spark.pyspark.": "Weir sets it: Python is that of the environment or of the image",
    "spark.yarn.jars": "Weir sets it: Spark's jars are in the environment",
    "spark.yarn.archive": "Weir sets it: Spark's jars are in the environment",
    "spark.submit.pyfiles": "python tables are read from conf/",
    "spark.jars.packages": (
        "jars are fetched once at set-up and checked by their hashes, never at the start of a run"
    ),
    "spark.jars.repositories": (
        "jars are fetched once at set-up and checked by their hashes, never at the start of a run"
    ),
    "spark.jars.ivy": (
        "jars are fetched once at set-up and checked by their hashes, never at the start of a run"
    ),
    "spark.sql.session.timezone": "all times are UTC; another zone would move windows and event times",
    "spark.sql.ansi.enabled": (
        "decoding relies on ANSI casts; without them wrong values become NULL in silence"
    ),
    "spark.sql.casesensitive": "columns are compared without case",
    "spark.sql.legacy.timeparserpolicy": "timestamps would be read in another way than the checks expect",
    "spark.sql.legacy.": "values would be read, cast or compared in another way than the checks expect",
    "spark.sql.ansi.": "SQL would be read in another way than the checks read it",
    "spark.sql.parser.": "SQL would be read in another way than the checks read it",
    "spark.sql.variable.": "${…} in SQL is text, not a variable of Spark or the environment",
    "spark.sql.storeassignmentpolicy": "a value that does not fit its column would be changed in silence",
    "spark.sql.mapkeydeduppolicy": "of a key that is there twice, the last value would win in silence",
    "statefuloperator.checkcorrectness": "rows of a stateful query could be lost in silence",
    "multiplewatermarkpolicy": "Weir sets it, for joins",
    "partitionoverwritemode": "a table that is written again could keep old rows",
    "delta.schema.automerge": "columns would come into tables that no pipeline file declares",
    "delta.properties.defaults": "Weir sets the properties of its tables, so that every reader can read them",
    "delta.vacuum.enforcetimetravel": "a batch that a crash has cut could not be done again",
    "spark.sql.extensions": "Weir sets it, for Delta",
    "spark.sql.catalog.spark_catalog": "Weir sets it, for Delta",
    "spark.databricks.delta.v2.enablemode": "Weir sets it; the jars of other modes are not there",
    "spark.databricks.delta.retentiondurationcheck": (
        "VACUUM could delete files that readers and streams still need"
    ),
    "deletedfileretentionduration": "VACUUM could delete files that readers and streams still need",
    "failondataloss": "rows that are gone must stop the run, never be skipped in silence",
    "ignoremissingfiles": "rows of a vanished file would be lost in silence",
    "ignorecorruptfiles": "rows of a damaged file would be lost in silence",
    "ignorechanges": "changes of a table below would be lost or doubled",
    "ignoredeletes": "changes of a table below would be lost or doubled",
    "skipchangecommits": "changes of a table below would be lost in silence",
}


CREDENTIALS = {
    "password",
    "passphrase",
    "passwd",
    "pwd",
    "pw",
    "pass",
    "passcode",
    "pgpass",
    "secret",
    "token",
    "credential",
    "credentials",
    "creds",
    "jaas",
    "sas",
    "sig",
    "pat",
}
ENDINGS = (
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "sshkey",
)
"""Of words that are written together, as in PGPASSWORD."""
KEYS = {
    "secret",
    "access",
    "account",
    "private",
    "api",
    "session",
    "encryption",
    "shared",
    "auth",
    "signing",
    "master",
}
"""Words of a setting's name that tell of something to be kept from others; the second ones before `key`."""
LAST = {"auth", "bearer", "cookie", "key"}
"""Words that tell of such a thing where the name ends with them."""
HANDLING = {
    "file",
    "path",
    "location",
    "provider",
    "providers",
    "class",
    "enabled",
    "ref",
    "binding",
    "type",
    "ttl",
    "timeout",
    "interval",
    "size",
    "bits",
}
"""Last words by which it says where a secret is, or how it is handled, not what it is."""
SECRET_FILES = (
    "spark.authenticate.secret.file",
    "spark.authenticate.secret.driver.file",
    "spark.authenticate.secret.executor.file",
)
"""Where a secret is, not what it is."""
OF_KUBERNETES = re.compile(r"spark\.kubernetes\.(driver|executor)\.(secretKeyRef|secrets)\..+")
"""The same: the rest of the name is one of the environment, or of a Secret."""


PASSWORD_IN_ADDRESS = re.compile(r"[A-Za-z0-9+.-]+://[^/\s@:]*:[^/\s@]+@")
"""As in https://user:password@host."""
NAMED_IN_VALUE = re.compile(r"(-D)?([A-Za-z][\w.-]*)\s*=")
"""As in -Dstore.password=…, jdbc:…?password=… and AccountKey=…;"""
LOOKS_SECRET = (
    "it looks like a credential, and would stand in this file and on a command line that every user of the"
    " machine can read"
)
KEYS_OF_S3 = "give keys as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
WAYS = (
    "give it in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for S3), or name a credentials"
    " provider or a file; for Spark's own, write it into spark-defaults.conf of the folder SPARK_CONF_DIR"
)


def check_setting_name(value: str) -> str:
    if not value.startswith("spark."):
        raise Hinted(
            f"{shorten(value)} is not a Spark setting",
            "names start with 'spark.', as in spark.executor.memory",
        )
    for part, reason in REFUSED_SETTINGS.items():
        if part in value.lower() and value not in SECRET_FILES:
            raise Hinted(f"{shorten(value)} may not be set: {reason}", "remove it")
    if value not in SECRET_FILES and not OF_KUBERNETES.fullmatch(value) and _is_credential(value):
        raise Hinted(f"{shorten(value)} may not be set: {LOOKS_SECRET}", WAYS)
    return value


def check_local(settings: Mapping[str, object]) -> None:
    """What keeps other users of the machine out of a local Spark, and other machines."""
    if str(settings.get("spark.authenticate", True)).lower() == "false":
        raise Hinted(
            "spark.authenticate may not be false: every user of the machine could call it", "remove it"
        )
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        if settings.get(name, LOOPBACK) not in (LOOPBACK, "localhost"):
            raise Hinted(
                f"{name} is {LOOPBACK} for a local master: other machines could call it", "remove it"
            )


def _is_credential(name: str) -> bool:
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]
    singular = [word.removesuffix("s") for word in words]
    keys = {before for before, word in pairwise(singular) if word == "key"}
    is_named = CREDENTIALS & {*words, *singular} or any(word.endswith(ENDINGS) for word in singular)
    return not HANDLING & set(words[-2:]) and bool(is_named or KEYS & keys or LAST & set(words[-1:]))


def check_address(value: str) -> str:
    """Of a place that a command line, logs and messages name."""
    if PASSWORD_IN_ADDRESS.search(value):
        hint = KEYS_OF_S3 if value.startswith("s3") else WAYS
        raise Withheld(f"an address with a password in it may not be set: {LOOKS_SECRET}", hint)
    return value


def check_setting_value(value: object) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise Hinted(f"{shorten(value)} is not a value of a setting", "write text, a number, true or false")
    for option, name in NAMED_IN_VALUE.findall(value) if isinstance(value, str) else ():
        if _is_credential(name):
            raise Withheld(f"{option}{shorten(name)} may not be set: {LOOKS_SECRET}", WAYS)
    return check_address(value) if isinstance(value, str) else value


SettingName = Annotated[str, AfterValidator(check_setting_name)]
Setting = Annotated[object, AfterValidator(check_setting_value)]
Address = Annotated[str, AfterValidator(check_address)]
