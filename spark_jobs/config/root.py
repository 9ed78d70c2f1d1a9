"""Where the project is. Apart from its loading, which takes a quarter of a second: completion in a shell
asks for the folder alone.
"""

import os
from collections.abc import Mapping
from pathlib import Path

LAKEHOUSE = Path("conf", "lakehouse.yml")


def find_root(environ: Mapping[str, str] = os.environ, start: Path | None = None) -> Path:
    """WEIR_HOME, else the nearest folder at or above `start` that has conf/lakehouse.yml, else the folder
    above the package. One that cannot be read is there as well: another project must not take the place of
    this one.
    """
    if environ.get("WEIR_HOME"):
        return Path(environ["WEIR_HOME"]).expanduser().resolve()
    here = (start or Path.cwd()).resolve()
    return next(
        (folder for folder in (here, *here.parents) if os.path.lexists(folder / LAKEHOUSE)),
        Path(__file__).resolve().parents[2],
    )
