"""The notebook of docs/spark.md as a script: from the tables of a run to docs/images/spark-latency.svg.

    python benchmarks/generate.py --size 20MB --profile small -o small.pcap
    kdissect pipeline run small.pcap --output tables --tables exchanges
    python docs/spark_plots.py tables docs/images/spark-latency.svg

Needs the extra `spark`, and matplotlib.
"""

from __future__ import annotations

import os
import sys

import matplotlib as mpl

mpl.use("svg")

import pyspark.sql.functions as F  # noqa: N812  what everybody calls them

from kdissect.pipeline.spark_session import find_java, open_session


def main(tables: str, picture: str) -> None:
    """Plot the latency of Produce by broker over time."""
    os.environ["JAVA_HOME"] = find_java().home
    spark = open_session("local[2]")
    exchanges = spark.read.parquet(f"{tables}/exchanges")
    per_second = (
        exchanges.where("api = 'Produce' and latency_ns is not null and same_as is null")
        .groupBy("broker", F.date_trunc("second", "time").alias("second"))
        .agg(F.expr("percentile_approx(latency_ns, 0.99) / 1e6").alias("p99_ms"))
        .toPandas()
    )
    spark.stop()
    seconds = per_second.pivot_table(index="second", columns="broker", values="p99_ms")
    mpl.rcParams["svg.hashsalt"] = "kdissect"  # the same file for the same data
    axes = seconds.plot(figsize=(8, 3.2), linewidth=1, ylabel="p99 of Produce, ms", xlabel="")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(title="broker", fontsize="small", ncols=2, frameon=False)
    axes.figure.tight_layout()
    axes.figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
