"""Topics: who writes, who reads, in what batches."""
