"""The analysis in stages, for one process or many: first facts of single connections, then facts that span
connections.

Pure Python, without Spark: functions that take rows in an order and give rows. `per_flow` takes the events of
connections, `per_capture_set` what `per_flow` forwards, sorted by `event_order`. A run on many machines and
one process drive the same stages, and tests hold both equal to the commands.
"""
