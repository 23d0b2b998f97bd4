"""Captures that keep arriving: Structured Streaming over directories, with state for each connection.

A micro-batch takes files that are complete, in the order of their packets. `candidates` and `scanner` see
what has come, `registry` remembers it for ever, `source` hands it to Spark. `shard` goes on with each flow
where the batch before left it; `set_work` does so with what crosses connections; `batch` commits both with
what they made. docs/streaming.md says what is promised.
"""
