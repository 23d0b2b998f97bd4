"""Workers of Kafka Connect in distributed mode, with their REST interface."""

import json
import subprocess
import time
import urllib.error
import urllib.request

from captures.record import jars, workshop
from captures.record.lab import Lab
from captures.record.spec import HOST

_VERSION = "4.3.1"
_READY_SECONDS = 60


class Worker:
    """One worker of the group `connect-cluster`, told apart by its number."""

    def __init__(self, lab: Lab, number: int) -> None:
        port = lab.cluster.base + 90 + number
        self._rest = f"http://{HOST}:{port}"
        home = workshop.folder("run", f"c{lab.cluster.base}", f"connect{number}")
        properties = home / "connect.properties"
        properties.write_text(
            "\n".join(f"{key}={value}" for key, value in self._settings(lab, number).items()) + "\n"
        )
        java = workshop.program("java", "run Kafka Connect")
        command = [java, "-Xmx256m", "-cp", jars.classpath(f"connect-{_VERSION}")]
        with (home / "out.log").open("wb") as out:
            self._process = subprocess.Popen(
                [*command, "org.apache.kafka.connect.cli.ConnectDistributed", str(properties)],
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        lab.truth.client("Kafka Connect", _VERSION, f"connect-{number}")

    def _settings(self, lab: Lab, number: int) -> dict[str, str]:
        converter = "org.apache.kafka.connect.storage.StringConverter"
        stores = {f"{kind}.storage.topic": f"connect-{kind}" for kind in ("config", "offset", "status")}
        copies = {f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")}
        return {
            "bootstrap.servers": lab.cluster.bootstrap,
            "client.id": f"connect-{number}",
            "group.id": "connect-cluster",
            "listeners": self._rest,
            "rest.advertised.host.name": HOST,
            "key.converter": converter,
            "value.converter": converter,
            "offset.flush.interval.ms": "2000",
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            "heartbeat.interval.ms": "1000",
            "plugin.discovery": "service_load",
            **stores,
            **copies,
        }

    def wait_ready(self) -> None:
        """Wait until the worker answers. Raises RuntimeError if it never does."""
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            try:
                self.call("connectors")
                return
            except OSError:
                time.sleep(0.3)
        raise RuntimeError("the Connect worker does not answer")

    def call(self, path: str, body: object | None = None) -> object:
        """Return a request of the REST interface; POST when there is a body.

        Raises OSError when it is refused.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._rest}/{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def stop(self) -> None:
        """End the worker, at once if it takes too long."""
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
