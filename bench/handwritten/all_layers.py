"""The three hand-written jobs in one Spark session. Prints the seconds of each layer."""

import time

from bronze import load_bronze
from gold import load_gold
from session import read_arguments, start_session
from silver import load_silver

LAYERS = {"bronze": load_bronze, "silver": load_silver, "gold": load_gold}


def main() -> None:
    places = read_arguments(__doc__)
    started = time.perf_counter()
    session = start_session("handwritten all layers")
    print(f"session {time.perf_counter() - started:.1f} s")
    for layer, load in LAYERS.items():
        started = time.perf_counter()
        load(session, places)
        print(f"{layer} {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
