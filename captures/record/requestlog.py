"""Keeps the broker's own request log beside a capture: an oracle for every field of every body."""

import gzip

from captures.record.lab import Lab


def keep(lab: Lab, name: str) -> None:
    """Write the request log of node 1, compressed, as NAME.requests.log.gz."""
    text = lab.cluster.request_log(1).read_bytes()
    target = lab.output / f"{name}.requests.log.gz"
    target.write_bytes(gzip.compress(text, mtime=0))
