"""The Spark session of the hand-written jobs: settings that an engineer would give Delta on one machine, and
the arguments of every job.
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Places:
    landing: Path
    lake: Path

    def table(self, layer: str, name: str) -> str:
        return str(self.lake / layer / name)

    def checkpoint(self, query: str) -> str:
        return str(self.lake / "_checkpoints" / query)


def read_arguments(description: str | None) -> Places:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--landing",
        type=Path,
        required=True,
        help="folder with retail/orders, retail/customers and retail/products",
    )
    parser.add_argument(
        "--lake", type=Path, required=True, help="folder for the Delta tables and checkpoints"
    )
    arguments = parser.parse_args()
    return Places(arguments.landing.resolve(), arguments.lake.resolve())


def start_session(app: str) -> SparkSession:
    cores = os.cpu_count() or 1
    session = (
        SparkSession.builder.appName(app)
        .master("local[*]")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraClassPath", str(ROOT / ".envs/jars/*"))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.databricks.delta.v2.enableMode", "NONE")
        .config("spark.databricks.delta.snapshotPartitions", 2)
        .config("spark.sql.shuffle.partitions", cores)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", cores)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session
