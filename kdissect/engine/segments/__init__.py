"""The files a broker keeps beside a log segment: its indexes and the snapshots of its producers' state."""
