"""Log segments and snapshots on disk, and the files that a broker stores next to a segment."""
