"""Checks of conf/lakehouse.yml: the roots of the lake and of the landing zone, where they are, and the profile."""

import os
from collections.abc import Mapping

from spark_jobs.config.errors import Problem, did_you_mean
from spark_jobs.config.loading import LAKEHOUSE, Project
from spark_jobs.config.report import Report

STORES = ("s3a", "gs", "abfss")
"""Object stores that are reached without a JVM as well, and can write on a condition, as the lease must."""
INSTEAD = {"s3": "write s3a://, which is what Spark calls it", "file": "write the path alone"}


def check_roots(project: Project, environ: Mapping[str, str] = os.environ) -> list[Problem]:
    report = Report(project.root / LAKEHOUSE, project.root)
    if not (project.conf / "profiles" / f"{project.lakehouse.profile}.yml").is_file():
        hint = did_you_mean(project.lakehouse.profile, project.profiles)
        report.add(("profile",), project.lakehouse.profile, f"there is no profile {project.lakehouse.profile!r} in conf/profiles", hint)
    landing, lake = f"{project.landing}/", f"{project.lake}/"
    if landing.startswith(lake) or lake.startswith(landing):
        message = f"the lake ({project.lake}) and the landing zone ({project.landing}) contain one another"
        report.add(("lake",), project.lake, message, "give each a folder of its own (also in WEIR_LAKE and WEIR_LANDING)")
    for key, root in (("lake", project.lake), ("landing", project.landing)):
        _check_store(key, root, environ, report)
    return report.problems


def _check_store(key: str, root: str, environ: Mapping[str, str], report: Report) -> None:
    scheme, separator, rest = root.partition("://")
    if not separator:
        return
    if scheme not in STORES:
        hint = INSTEAD.get(scheme, "write a path of this machine, or s3a://bucket/folder; gs:// and abfss:// need their connector's jars")
        report.add((key,), root, f"Weir cannot keep its leases and ledger on {scheme}://", hint)
    elif "@" in rest and scheme != "abfss":
        message, hint = "an address is no place for a key or a password", "give keys as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        report.add((key,), f"{scheme}://...@{rest.rpartition('@')[2]}", message, hint)
    elif not rest.partition("/")[0] or set("?#") & set(rest):
        report.add((key,), root, "this names no bucket, or more than a bucket and a folder", "write it as s3a://bucket/folder")
    elif scheme == "s3a" and environ.get("AWS_ENDPOINT_URL", "").startswith("http://") and environ.get("AWS_ALLOW_HTTP") != "true":
        message = "the store of AWS_ENDPOINT_URL is asked without encryption, and nobody has allowed that"
        report.add((key,), root, message, "give its https:// address, or set AWS_ALLOW_HTTP=true where the network is your own")
