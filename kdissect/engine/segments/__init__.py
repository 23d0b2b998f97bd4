"""Log segments and snapshots on disk, and the files a broker keeps beside a segment."""
