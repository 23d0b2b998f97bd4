"""Flows that go on from batch to batch: shards, their analyzers, and where their state is kept."""
