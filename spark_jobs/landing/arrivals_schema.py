"""The columns of an arrivals table (arrivals.py). Apart from it, because what only reads arrivals does
without Arrow.
"""

import pyarrow as pa

_TIME = pa.timestamp("us", "UTC")
ARRIVALS = pa.schema(
    [("chunk", pa.int64()), ("path", pa.string()), ("size", pa.int64()), ("modified_at", _TIME),
     ("content_hash", pa.string()), ("file_id", pa.string()), ("arrived_at", _TIME), ("verdict", pa.string()),
     ("reason", pa.string()), ("start_byte", pa.int64()), ("start_line", pa.int64()), ("tag", pa.string())]
)  # fmt: skip
