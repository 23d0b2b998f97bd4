"""Packets in transit through Spark: runs of segments from files to the task of their flow."""
