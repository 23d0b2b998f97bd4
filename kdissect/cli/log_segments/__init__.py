"""`kdissect segments`: log segments, snapshots and indexes on the disks of brokers."""
