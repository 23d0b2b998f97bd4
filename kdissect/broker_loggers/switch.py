"""The request log of a cluster switched on until some time, and off: the levels before are kept in a file.

A process of its own, the guard, sets the levels back at that time. It needs nothing of the process that
started it but the settings, which come through a pipe, so that no command line has credentials.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

from platformdirs import user_state_path

from kdissect.broker_loggers.client_properties import Settings
from kdissect.broker_loggers.cluster import (
    LEVELS,
    QUIET,
    WRITES_REQUESTS,
    BrokerLogger,
    Cluster,
    ClusterError,
)

FOLDER_VARIABLE = "KDISSECT_STATE_DIR"
_LOOK_S = 1.0  # how often the guard looks for the time and for a newer switch
_RETRY_S = 10.0  # between attempts to set the levels back
_TRIES_S = 24 * 3600.0
_LAST_TIME = 1 << 36  # seconds since 1970 that a datetime can have
_LAST_PROCESS = 1 << 31
_KNOWN = frozenset(LEVELS)


class Switch(NamedTuple):
    """A request log that is on: what was before, by node id, until when, and the process that ends it."""

    cluster: str
    level: str
    before: dict[int, str]
    until: float
    """Seconds since 1970."""
    guard: int = 0
    problem: str = ""
    """Why the guard could not set the levels back."""

    @property
    def is_guarded(self) -> bool:
        """Whether the process that ends it runs."""
        return self.guard > 0 and _runs(self.guard)

    def write(self) -> None:
        """Keep it. Only its user can read the file."""
        path = _path(self.cluster)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = path.with_suffix(f".{os.getpid()}")
        new.touch(0o600)
        new.write_text(json.dumps(self._asdict()), "utf-8")
        new.replace(path)

    @classmethod
    def read(cls, cluster: str) -> Self | None:
        """Return the switch of a cluster; None if its request log is not on by kdissect of this user, or if
        the file is damaged.
        """
        try:
            facts = json.loads(_path(cluster).read_text("utf-8"))
            before = {int(node): str(level) for node, level in facts.pop("before").items()}
            found = cls(before=before, **facts)
        except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return None
        return found if found.is_sound else None

    @property
    def is_sound(self) -> bool:
        """Whether each value is one that kdissect writes."""
        texts = self.cluster, self.level, self.problem
        are_typed = all(isinstance(text, str) for text in texts) and type(self.guard) is int
        is_time = type(self.until) in (int, float) and 0 <= self.until < _LAST_TIME
        return are_typed and is_time and 0 <= self.guard < _LAST_PROCESS and {*self.before.values()} <= _KNOWN

    def forget(self) -> None:
        """Delete the file: the levels are as before."""
        _path(self.cluster).unlink(missing_ok=True)


def _path(cluster: str) -> Path:
    folder = os.environ.get(FOLDER_VARIABLE)
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in cluster)
    return (Path(folder) if folder else user_state_path("kdissect")) / f"request-log-{name}.json"


def _runs(process: int) -> bool:
    facts = Path(f"/proc/{process}")
    try:
        os.kill(process, 0)
        if not facts.parent.is_dir():
            return True
        words = (facts / "cmdline").read_bytes()
        # It has no words yet when it has just begun its program. Who has ended has no program (proc(5)).
        return b"kdissect" in words or (not words and bool((facts / "exe").readlink()))
    except OSError:
        return False


def switch_on(
    cluster: Cluster, loggers: list[BrokerLogger], settings: Settings, level: str, seconds: float
) -> list[BrokerLogger]:
    """Set the level of all brokers for some time. Returns the loggers afterwards.

    The guard runs before the first level changes, so that no moment is without it. Raises ClusterError if
    the guard cannot start.
    """
    known = Switch.read(cluster.id)
    responding = {logger.node: _level_before(logger.level) for logger in loggers if logger.level is not None}
    before = responding | (known.before if known else {})
    switch = _guarded(Switch(cluster.id, level, before, time.time() + seconds), cluster.bootstrap, settings)
    problems = cluster.set_levels(dict.fromkeys(responding, level))
    if len(problems) == len(responding) and known is None:
        switch.forget()
    return [_with(logger, level, problems) for logger in loggers]


def _level_before(level: str) -> str:
    """Return the level to set afterwards.

    Kafka does not take OFF. A log that is on without a switch was left on, or is another user's.
    """
    if level == "OFF":
        return LEVELS[-1]
    return level if level in _KNOWN.difference(WRITES_REQUESTS) else QUIET


def switch_off(cluster: Cluster, loggers: list[BrokerLogger]) -> list[BrokerLogger]:
    """Set the levels back to those before, or to that of the log4j files if they are not known. Returns the
    loggers afterwards.

    The switch remains for brokers that do not respond or are not in the cluster now.
    """
    switch = Switch.read(cluster.id)
    before = switch.before if switch else {}
    wanted = {
        logger.node: before.get(logger.node, QUIET)
        for logger in loggers
        if logger.level in WRITES_REQUESTS or (logger.node in before and logger.level is not None)
    }
    problems = cluster.set_levels(wanted)
    done = wanted.keys() - problems.keys()
    left = {node: level for node, level in before.items() if node not in done}
    if switch and left:
        switch._replace(before=left).write()
    elif switch:
        switch.forget()
    away = left.keys() - {logger.node for logger in loggers}
    return [
        *(_with(one, wanted[one.node], problems) if one.node in wanted else one for one in loggers),
        *(BrokerLogger(node, "", None, "it is not in the cluster now") for node in sorted(away)),
    ]


def _with(logger: BrokerLogger, level: str, problems: dict[int, str]) -> BrokerLogger:
    """Return the logger as it is after a change."""
    if logger.level is None:
        return logger
    problem = problems.get(logger.node)
    return logger._replace(problem=problem) if problem else logger._replace(level=level)


def _guarded(switch: Switch, bootstrap: str, settings: Settings) -> Switch:
    """Keep a switch, and start the process that ends it. Returns the switch with that process."""
    try:
        guard = subprocess.Popen(
            [sys.executable, "-m", "kdissect.broker_loggers.switch"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        guard.returncode = 0  # nobody waits for it: it outlives this process
        switch = switch._replace(guard=guard.pid)
        switch.write()  # before the guard reads its pipe: it ends if the file names another process
        assert guard.stdin is not None
        with guard.stdin as pipe:
            pipe.write(json.dumps([switch.cluster, switch.until, bootstrap, settings]).encode())
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise ClusterError(f"{name}{error.strerror}: no process switches it off, so it stays off") from None
    return switch


def guard(cluster: str, until: float, bootstrap: str, settings: Settings) -> None:
    """Wait until a time, and set the levels back; try again for a day where the cluster does not respond.

    Ends early if the switch is over, or if another process has to end it.
    """
    while time.time() < until:
        if not _is_mine(cluster):
            return
        time.sleep(min(_LOOK_S, max(0.01, until - time.time())))
    while _is_mine(cluster) and time.time() < until + _TRIES_S:
        problem = _ended(bootstrap, settings)
        switch = Switch.read(cluster)
        if not problem or switch is None:
            return
        switch._replace(problem=problem).write()
        time.sleep(_RETRY_S)


def _is_mine(cluster: str) -> bool:
    switch = Switch.read(cluster)
    return switch is not None and switch.guard == os.getpid()


def _ended(bootstrap: str, settings: Settings) -> str:
    """Set the levels back. Returns what is wrong."""
    try:
        with Cluster(bootstrap, settings) as cluster:
            loggers = switch_off(cluster, cluster.loggers())
    except ClusterError as error:
        return str(error)
    return "; ".join(f"broker {logger.node}: {logger.problem}" for logger in loggers if logger.problem)


def _main() -> None:
    given: list[Any] = json.load(sys.stdin.buffer)
    guard(*given)


if __name__ == "__main__":
    _main()
