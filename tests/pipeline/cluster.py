"""A standalone cluster of Spark on this machine, and an environment that is packed for it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import time
import tomllib
import venv
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tests.support.patience import PATIENCE_S

CHECKOUT = Path(__file__).parents[2]
_CLASSES = "org.apache.spark.deploy"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_POLL_S = 0.02


class Cluster:
    """A master and workers of one core each. Used with `with`."""

    def __init__(self, folder: Path, java_home: str, workers: int = 2) -> None:
        import pyspark

        self._folder = folder
        self._home = Path(pyspark.__file__).parent
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))
        } | {"JAVA_HOME": java_home, "SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1"}
        self._started: list[subprocess.Popen[bytes]] = []
        self._wanted = workers
        self.workers: list[subprocess.Popen[bytes]] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        self._master_options = ["--port", str(port)]

    def __enter__(self) -> Cluster:
        self._start("master.Master", *self._master_options)
        self.fill()
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started):
            kill(process.pid)
            process.wait()

    def fill(self) -> None:
        """Start workers until there are as many as wanted, in the place of killed ones."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < self._wanted:
            folder = self._folder / f"worker{len(self._started)}"
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder), self.url]
            self.workers.append(self._start("worker.Worker", *options))

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"{name}{len(self._started)}.log"
        common = ["--host", "127.0.0.1", "--webui-port", "0"]
        command = [str(self._home / "bin" / "spark-class"), f"{_CLASSES}.{name}", *common, *options]
        with log.open("wb") as said:
            process = subprocess.Popen(
                command, cwd=self._folder, env=self._environment, stdout=said, stderr=said
            )
        self._started.append(process)
        wanted = b"I have been elected leader" if name.startswith("master") else b"registered with master"
        wait_for(lambda: wanted in log.read_bytes(), f"{name} does not start: {log}")
        return process


def wait_for(holds: Callable[[], bool], why: str) -> None:
    """Until something holds; fails with `why` when it takes too long."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, why
        time.sleep(_POLL_S)


def family(root: int) -> list[int]:
    """Return a process and all below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it ended while we looked
                continue
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def kill(root: int) -> None:
    """SIGKILL for a process and all below it, whom nobody is left to start again."""
    for process in family(root):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


def reads_capture(root: int) -> bool:
    """Return whether a process below this one has a capture open."""
    for process in family(root):
        try:
            opened = [str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()]
        except OSError:  # it ended while we looked
            continue
        if any(".pcap" in path for path in opened):
            return True
    return False


def packed_environment(folder: Path) -> Path:
    """Return an archive of a virtual environment with kdissect as it stands here, but for the compiled part.

    No index is asked: what it needs is copied from where it is installed.
    """
    root = folder / "env"
    venv.EnvBuilder(symlinks=True, with_pip=False).create(root)
    (packages,) = root.glob("lib/python*/site-packages")
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    extras = (*project["optional-dependencies"]["arrow"], *project["optional-dependencies"]["personal"])
    for name in sorted(_needed([*project["dependencies"], *extras])):
        _copy(name, packages)
    left_out = shutil.ignore_patterns("_native*.so", "__pycache__")
    shutil.copytree(CHECKOUT / "kdissect", packages / "kdissect", ignore=left_out)
    archive = folder / "env.tar.gz"  # of a `.tar` Spark keeps neither permissions nor links
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(root, ".")
    return archive


def _needed(requirements: list[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        text = waiting.pop()
        match = _NAME.match(text)
        if match is None or match[0] in found or "extra ==" in text:
            continue
        found.add(match[0])
        try:
            waiting += distribution(match[0]).requires or ()
        except PackageNotFoundError:  # of another platform
            found.discard(match[0])
    return found


def _copy(name: str, packages: Path) -> None:
    for file in _files_of(name):
        source = Path(str(distribution(name).locate_file(file)))
        target = packages / file
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _files_of(name: str) -> Iterator[str]:
    for file in distribution(name).files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            yield str(file)
