"""Topics that exchanges name: names of ids, partitions that are listed."""
