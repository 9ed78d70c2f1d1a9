"""`weir setup`: Java, the jars, and the archive of classes that a small run loads."""

from spark_jobs.cli.ending import fail
from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.loading import find_root
from spark_jobs.session.archive import SetupFailed, make_archive
from spark_jobs.session.install import Installation
from spark_jobs.session.jars import COMPONENTS, JarMismatch, JarUnavailable, fetch_jars
from spark_jobs.session.java import JavaMissing


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
