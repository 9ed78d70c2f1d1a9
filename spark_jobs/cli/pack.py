"""`weir pack`: the archive of the environment for hosts that have none."""

import json

from spark_jobs.cli.ending import fail_with
from spark_jobs.config.loading import find_root
from spark_jobs.session.install import Installation, NotInstalled
from spark_jobs.session.pack import VERSION, make_environment


def pack_command(as_json: bool) -> int:
    try:
        archive = make_environment(Installation(find_root()))
    except NotInstalled as missing:
        return fail_with("failed", str(missing), 1, as_json=as_json)
    size = archive.stat().st_size
    if as_json:
        print(json.dumps({"archive": str(archive), "bytes": size, "python": VERSION}))
    else:
        print(f"{archive}: {size / 1e6:,.0f} MB; hosts that unpack it need {VERSION} on PATH")
    return 0
