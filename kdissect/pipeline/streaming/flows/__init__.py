"""Flows that go on from batch to batch: shards, their analyzers, and the store of their state."""
