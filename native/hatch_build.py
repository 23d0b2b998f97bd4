"""Adds the compiled hot path to the wheel where a Rust compiler is found (docs/native.md).

Without one, or with `KDISSECT_NATIVE=0` in the environment, the wheel is pure Python, and kdissect does the
same, slower. pip shows nothing of it unless asked (`pip install -v`), so the reason is put into the wheel, in
a file that `kdissect --version` reads. With `KDISSECT_NATIVE=1` the build fails instead: wheels for others
are made so.
"""

import atexit
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Cargo prints a line for each crate. On a busy machine the whole takes any time, so only silence counts: the
# last crate, our own, takes 100 s of one idle core. A machine on which cargo hangs gets the wheel without.
SILENCE_S = 1800.0
MAX_SILENCE_S = 86_400
_LOOK_S = 0.5  # how often the end of cargo is looked for
SILENCE = "KDISSECT_BUILD_TIMEOUT"  # the variable with another number of seconds
# In the package, and looked for there by kdissect/model/native.py.
WHY_NOT = "_native_missing.txt"
_LIBRARY = {"Darwin": "lib_native.dylib", "Windows": "_native.dll"}
# The stable ABI since 3.11 (`abi3-py311` in Cargo.toml): one wheel of a platform for every CPython since.
_MODULE = {"Windows": "_native.pyd"}
_PYTHON = "cp311-abi3"


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's hook: `initialize` runs before the files of a wheel are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name to the wheel the library, or why there is none; editable, it goes beside the sources."""
        if self.target_name != "wheel":
            return
        built = self._compiled()
        if isinstance(built, Path):
            name = _MODULE.get(platform.system(), "_native.abi3.so")
            build_data["pure_python"] = False
            build_data["tag"] = f"{_PYTHON}-{_platform_tag()}"
        else:
            name, built = WHY_NOT, self._written(built)
        if version == "editable":
            package = Path(self.root, "kdissect")
            for old in (package / WHY_NOT, *package.glob("_native.*.so"), *package.glob("_native.*.pyd")):
                old.unlink(missing_ok=True)  # an older build's
            shutil.copy(built, package / name)
        else:
            build_data["force_include"][str(built)] = f"kdissect/{name}"

    def _compiled(self) -> Path | str:
        """Return the library, or the reason in one line why there is none."""
        if os.environ.get("KDISSECT_NATIVE") == "0":
            return "KDISSECT_NATIVE=0 when it was installed"
        cargo = shutil.which("cargo")
        if cargo is None:
            return self._do_without("no Rust compiler (cargo) when it was installed")
        folder = Path(self.root, "native")
        target = Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))
        command = [cargo, "build", "--release", "--locked", "--target-dir", str(target)]
        env = {**os.environ, "PYO3_PYTHON": sys.executable, "CARGO_TERM_COLOR": "never"}
        try:
            _run(command, folder, env)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return self._do_without(f"cargo could not build it: {self._reason(error)}")
        # Where cargo puts the library of another processor.
        release = target / os.environ.get("CARGO_BUILD_TARGET", "") / "release"
        return release / _LIBRARY.get(platform.system(), "lib_native.so")

    def _reason(self, error: Exception) -> str:
        """Show the output of cargo, and return its error in a line, or how it ended."""
        words = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace")
        self.app.display_info(words)
        said = [line.strip() for line in words.splitlines() if line.strip()]
        errors = [line.removeprefix("error: ") for line in said if line.startswith("error")]
        causes = said[said.index("Caused by:") + 1 :] if "Caused by:" in said else []
        return "; ".join([*errors[:1], *causes[-1:]]) or str(error)

    def _do_without(self, why: str) -> str:
        if os.environ.get("KDISSECT_NATIVE") == "1":
            raise RuntimeError(f"KDISSECT_NATIVE=1, and the compiled hot path cannot be had: {why}")
        self.app.display_warning(
            f"kdissect: installed without the compiled hot path, see docs/native.md: {why}"
        )
        return why

    def _written(self, why: str) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="kdissect-build-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        (folder / WHY_NOT).write_text(" ".join(why.split()) + "\n", "utf-8")
        return folder / WHY_NOT


def _run(command: list[str], folder: Path, env: dict[str, str]) -> None:
    """Run cargo as long as it prints lines. Raises CalledProcessError with its stderr, or TimeoutExpired."""
    limit_s = _silence_s()
    lines: Queue[bytes] = Queue()
    said = []
    cargo = subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, start_new_session=True)
    assert cargo.stderr is not None  # it is a pipe
    # A process that cargo leaves behind may hold the pipe open, and keep this thread: it is not waited for.
    reader = Thread(target=_pass_on, args=(cargo.stderr, lines), daemon=True)
    reader.start()
    heard = time.monotonic()
    try:
        while True:
            try:
                said.append(lines.get(timeout=min(limit_s, _LOOK_S)))
                heard = time.monotonic()
            except Empty:
                if cargo.poll() is not None:
                    break
                if time.monotonic() - heard >= limit_s:
                    raise _SilentError(limit_s) from None
    finally:
        _stop(cargo)  # and the compilers that it started
        reader.join(_LOOK_S)
    said.extend(lines.get() for _ in range(lines.qsize()))
    if cargo.returncode:
        raise subprocess.CalledProcessError(cargo.returncode, command, stderr=b"".join(said))


class _SilentError(subprocess.SubprocessError):
    def __init__(self, limit_s: float) -> None:
        super().__init__(f"it printed nothing for {limit_s:g} s, {SILENCE}=SECONDS sets another limit")


def _silence_s() -> float:
    text = os.environ.get(SILENCE, "")
    try:
        seconds = float(text or SILENCE_S)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_SILENCE_S:  # also refuses nan
        raise ValueError(f"{SILENCE}={text} requires a number of seconds above 0, at most {MAX_SILENCE_S}")
    return seconds


def _pass_on(lines: IO[bytes], queue: "Queue[bytes]") -> None:
    with lines:
        for line in lines:
            queue.put(line)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def _platform_tag() -> str:
    """Return the wheel's platform (PEP 425): this machine's, or the one that an environment builds for."""
    name = sysconfig.get_platform().replace("universal2", platform.machine())  # of one processor alone
    return name.replace("-", "_").replace(".", "_")
