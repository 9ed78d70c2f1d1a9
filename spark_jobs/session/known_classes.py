"""The classes of the JVM that PySpark asks for with every expression, each looked up once.

For `F.col("a")` PySpark asks the JVM which class is meant by `functions`, then for its method `col`, and then calls it. A class without its
package is looked for in all packages that PySpark has imported, and in every jar for each of them: that took more than the call.
"""

from typing import Any

from py4j.java_gateway import JavaMember  # type: ignore[import-untyped]
from pyspark import SparkContext

NAMES = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")


class KnownClass:
    """The static members of a class. Methods are kept: they are names to call, and never change while the JVM lives."""

    def __init__(self, java_class: Any) -> None:
        self._class = java_class

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._class, name)
        if isinstance(member, JavaMember):
            setattr(self, name, member)  # found without this function from now on
        return member


def remember_classes(context: SparkContext) -> None:
    """Let PySpark find these classes in Python, for as long as this JVM lives."""
    jvm = context._jvm
    for name in NAMES:
        if name not in vars(jvm):
            setattr(jvm, name, KnownClass(getattr(jvm, name)))
