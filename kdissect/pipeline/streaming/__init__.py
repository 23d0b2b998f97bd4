"""Captures that keep arriving: Structured Streaming over directories, with state for each connection.

A micro-batch takes files that are complete, in the order of their packets. `candidates` and `scanner` find
new files, `registry` remembers them for ever, `source` hands them to Spark. `shard` continues each flow from
the batch before. `set_work` does so with the facts across connections. `batch` commits both with their
output. docs/streaming.md lists the guarantees.
"""
