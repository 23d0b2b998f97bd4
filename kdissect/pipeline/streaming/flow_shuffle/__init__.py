"""Packets on their way through Spark: runs of segments out of files, to the task of their flow."""
