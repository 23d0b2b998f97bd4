"""What a scenario gets: a running cluster, a running capture, the truth, and a way to run clients."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captures.record.broker import Cluster
from captures.record.drivers import Driver, Running
from captures.record.sniffer import Sniffer
from captures.record.truth import Event, Truth


class Lab:
    """The room a scenario runs in."""

    def __init__(self, cluster: Cluster, sniffer: Sniffer, truth: Truth, output: Path) -> None:
        self.cluster = cluster
        self.sniffer = sniffer
        self.truth = truth
        self.output = output
        self._running: list[Running] = []

    def start_driver(
        self,
        driver: Driver,
        action: str,
        *,
        client_id: str | None = None,
        bootstrap: str | None = None,
        properties: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Running:
        """Start a driver: `BOOTSTRAP ACTION --client-id ID [--key value ...] [--set name=value ...]`.

        Underscores of option names become hyphens; `properties` are the client's own settings. Its events
        go into the truth.
        """
        name = client_id or f"{action}-{driver.version}"
        command = [*driver.command, bootstrap or self.cluster.bootstrap, action, "--client-id", name]
        for key, value in options.items():
            command += ["--" + key.replace("_", "-"), str(value)]
        for key, value in (properties or {}).items():
            command += ["--set", f"{key}={value}"]
        self.truth.client(driver.name, driver.version, name)
        running = Running(command, lambda event: self.truth.event(event, name))
        self._running.append(running)
        return running

    def run_driver(self, driver: Driver, action: str, **options: Any) -> list[Event]:
        """Run a driver to its end (see `start_driver`); its events. Raises RuntimeError if it fails."""
        return self.start_driver(driver, action, **options).wait()

    @property
    def problems(self) -> list[str]:
        """What drivers said that failed of their own accord, after the client id of each."""
        found = ((running.command, running.problem) for running in self._running)
        return [
            f"{command[command.index('--client-id') + 1]} {problem}" for command, problem in found if problem
        ]

    def close(self) -> None:
        """End what a scenario left running."""
        for running in self._running:
            running.kill()
