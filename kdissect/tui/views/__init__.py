"""The views: one file each."""
