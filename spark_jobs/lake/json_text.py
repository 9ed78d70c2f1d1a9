"""Values as JSON text that says all of them: Spark's own cuts times to milliseconds, so that two of them
would be one.
"""

MICROSECONDS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
WHOLE_JSON = {"ignoreNullFields": "false", **MICROSECONDS}
"""NULLs as well."""
