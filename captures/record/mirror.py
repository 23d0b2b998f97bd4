"""MirrorMaker 2 between clusters, as one process of its own."""

import re
import subprocess
import time
from collections.abc import Mapping

from captures.record import jars, workshop
from captures.record.commands import tool

VERSION = "4.3.1"
_COPIED_SECONDS = 120
_SETTINGS = {
    "first->second.enabled": "true",
    "second->first.enabled": "true",
    "first->second.topics": "orders,events",
    "second->first.topics": "orders",
    "replication.factor": "1",
    "tasks.max": "1",
    "emit.heartbeats.interval.seconds": "5",
    "emit.checkpoints.interval.seconds": "5",
    "refresh.topics.interval.seconds": "5",
    "refresh.groups.interval.seconds": "5",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "offset.flush.interval.ms": "3000",
    **{
        f"{kind}.replication.factor": "1"
        for kind in (
            "checkpoints.topic", "heartbeats.topic", "offset-syncs.topic", "offset.storage", "status.storage",
            "config.storage",
        )
    },
}  # fmt: skip


class Mirror:
    """One MirrorMaker between the clusters `first` and `second`, by their bootstrap servers.

    `base` names its folder, `more` are settings in addition to the usual ones.
    """

    def __init__(self, base: int, places: Mapping[str, str], more: Mapping[str, str] | None = None) -> None:
        home = workshop.folder("run", f"c{base}", "mirror", fresh=True)
        named = {f"{name}.bootstrap.servers": bootstrap for name, bootstrap in places.items()}
        settings = {"clusters": ", ".join(places)} | named | _SETTINGS | dict(more or {})
        config = home / "mm2.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        java = workshop.program("java", "run MirrorMaker")
        command = [java, "-Xmx384m", "-XX:+UseSerialGC", "-cp", jars.classpath(f"mirror-{VERSION}")]
        with (home / "out.log").open("wb") as out:
            self._process = subprocess.Popen(
                [*command, "org.apache.kafka.connect.mirror.MirrorMaker", str(config)],
                stdout=out, stderr=subprocess.STDOUT, cwd=home, start_new_session=True,
            )  # fmt: skip

    def wait_copied(self, bootstrap: str, topic: str, count: int) -> None:
        """Wait until a topic that it copies to has so many records. Raises RuntimeError if it never has."""
        end = time.monotonic() + _COPIED_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            try:
                printed = tool("GetOffsetShell", bootstrap)
            except RuntimeError:  # while there is no topic at all
                printed = ""
            found = re.findall(rf"^{re.escape(topic)}:\d+:(\d+)$", printed, re.MULTILINE)
            if sum(map(int, found)) >= count:
                return
            time.sleep(1)
        raise RuntimeError(f"MirrorMaker did not copy {topic}")

    def kill(self) -> None:
        """End it at once: it commits no offsets of what it copied."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it, and wait until it has stopped its tasks."""
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
