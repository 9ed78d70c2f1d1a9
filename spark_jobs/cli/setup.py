"""`weir setup`: Java, the jars, and the archive of classes that a small run loads. `weir pack`: the archive
of the environment for hosts that have none.
"""

from spark_jobs.cli.ending import end, fail, fail_with
from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.loading import find_root
from spark_jobs.session.install import Installation, NotInstalled, SetupFailed, make_archive
from spark_jobs.session.jars import COMPONENTS, JarMismatch, JarUnavailable, fetch_jars
from spark_jobs.session.java import JavaMissing
from spark_jobs.session.pack import VERSION, make_environment


def setup_command(jars_only: bool, components: list[str]) -> int:
    installed = Installation(find_root())
    if unknown := [name for name in components if name not in COMPONENTS]:
        raise UsageError(
            "--with",
            unknown[0],
            f"there is no component {unknown[0]!r}",
            did_you_mean(unknown[0], COMPONENTS),
        )
    try:
        java = installed.java()
        print(f"Java {java.major} ({java.origin})")
        fetch_jars(installed.jars, java, print, components)
        if not jars_only:
            make_archive(installed, java, print)
    except (JavaMissing, JarMismatch, JarUnavailable, SetupFailed) as error:
        return fail(str(error), 1)
    return 0


# `weir pack`: the archive of the environment for hosts that have none.


def pack_command(as_json: bool) -> int:
    try:
        archive = make_environment(Installation(find_root()))
    except NotInstalled as missing:
        return fail_with("failed", str(missing), 1, as_json=as_json)
    size = archive.stat().st_size
    line = f"{archive}: {size / 1e6:,.0f} MB; hosts that unpack it need {VERSION} on PATH"
    return end(0, line, {"archive": str(archive), "bytes": size, "python": VERSION}, as_json=as_json)
