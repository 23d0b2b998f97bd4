"""The build of a wheel with and without a Rust compiler."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parent.parent.parent
# What a compiler calls the library on Linux, macOS and Windows.
LIBRARIES = ("lib_native.so", "lib_native.dylib", "_native.dll")


class _App:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.shown = ""

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)

    def display_info(self, message: str) -> None:
        self.shown = message


def _hook(root: Path, target: str = "wheel") -> tuple[Any, _App]:
    pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    spec = importlib.util.spec_from_file_location("hatch_build", CHECKOUT / "native" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = _App()
    return module.NativeBuildHook(str(root), {}, None, None, str(root), target, app), app


def _data() -> dict[str, Any]:
    return {"pure_python": True, "infer_tag": False, "force_include": {}}


def _cargo(folder: Path, script: str) -> None:
    cargo = folder / "cargo"
    cargo.write_text(f"#!/bin/sh\n{script}\n")
    cargo.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty checkout; PATH has its `bin` and a shell alone."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "native").mkdir()
    (tmp_path / "kdissect").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("KDISSECT_NATIVE", raising=False)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    return tmp_path


def _why_not(data: dict[str, Any]) -> str:
    """Return what the file says that is all a pure wheel has more."""
    assert data["pure_python"]
    assert "tag" not in data
    ((file, place),) = data["force_include"].items()
    assert place == "kdissect/_native_missing.txt"
    return Path(file).read_text()


def test_without_a_compiler_the_wheel_is_pure_and_knows_why(checkout: Path) -> None:
    hook, app = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert _why_not(data) == "no Rust compiler (cargo) when it was installed\n"
    assert app.warnings == [
        "kdissect: installed without the compiled hot path, see docs/native.md: "
        "no Rust compiler (cargo) when it was installed"
    ]


def test_a_wheel_that_must_have_it_is_not_built_without(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDISSECT_NATIVE", "1")
    hook, _ = _hook(checkout)
    with pytest.raises(RuntimeError, match=r"KDISSECT_NATIVE=1, .* no Rust compiler"):
        hook.initialize("standard", _data())


OFFLINE = """error: failed to download `pyo3 v0.26.0`

Caused by:
  attempting to make an HTTP request, but --offline was specified
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "returned non-zero exit status 101"),
        (OFFLINE, "failed to download `pyo3 v0.26.0`; attempting to make an HTTP request, but --offline was"),
        ("error: rustc 1.70.0 is not supported by the following package:\n", "rustc 1.70.0 is not supported"),
        ("error: linker `cc` not found\n  |\n  = note: No such file\n", "linker `cc` not found"),
        ("warning: old\nerror[E0425]: no value\n --> src/lib.rs:1\n", "error[E0425]: no value\n"),
    ],
)
def test_a_compiler_that_fails_leaves_the_wheel_pure(checkout: Path, said: str, told: str) -> None:
    (checkout / "bin" / "said").write_text(said)
    _cargo(checkout / "bin", f'while read -r line; do echo "$line" >&2; done < {checkout}/bin/said; exit 101')
    hook, app = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    why = _why_not(data)
    assert why.startswith("cargo could not build it: ")
    assert told in why
    assert app.warnings[0].endswith(why.rstrip())
    assert len(app.shown.splitlines()) == len(said.splitlines())


def test_a_slow_compiler_may_take_any_time_while_it_prints(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDISSECT_BUILD_TIMEOUT", "3")
    _cargo(checkout / "bin", "for crate in 1 2 3 4 5 6 7 8; do echo Compiling >&2; /bin/sleep 0.5; done")
    hook, _ = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert not data["pure_python"]


def test_what_cargo_leaves_behind_is_not_waited_for(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the pipe of cargo's words open, longer than silence may last."""
    monkeypatch.setenv("KDISSECT_BUILD_TIMEOUT", "2")
    child = f"/usr/bin/setsid /bin/sleep 60 & echo $! > {checkout}/pid; echo 'error: no' >&2; exit 101"
    _cargo(checkout / "bin", child)
    hook, _ = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    left_behind = int((checkout / "pid").read_text())
    os.kill(left_behind, 0)  # it is there
    os.kill(left_behind, signal.SIGKILL)
    assert _why_not(data) == "cargo could not build it: no\n"


def test_a_compiler_that_hangs_is_stopped_with_what_it_started(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDISSECT_BUILD_TIMEOUT", "0.5")
    _cargo(checkout / "bin", f"/bin/sleep 100 & echo $! > {checkout}/pid; wait")
    hook, _ = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert _why_not(data) == (
        "cargo could not build it: it printed nothing for 0.5 s, "
        "KDISSECT_BUILD_TIMEOUT=SECONDS sets another limit\n"
    )
    started = Path(f"/proc/{(checkout / 'pid').read_text().strip()}/stat")
    until = time.monotonic() + 10  # a process that was killed ends when it is scheduled
    while started.exists() and not started.read_text().split(") ")[1].startswith("Z"):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("limit", ["0", "-1", "soon", "nan", "1e9"])
def test_a_limit_that_is_none_is_named(checkout: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setenv("KDISSECT_BUILD_TIMEOUT", limit)
    _cargo(checkout / "bin", "exit 0")
    hook, _ = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert f"KDISSECT_BUILD_TIMEOUT={limit} requires" in _why_not(data)


def test_what_was_compiled_is_in_the_wheel(checkout: Path) -> None:
    _cargo(checkout / "bin", "exit 0")
    hook, app = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert not data["pure_python"]
    assert re.fullmatch(r"cp311-abi3-\w+", data["tag"])
    ((library, place),) = data["force_include"].items()
    assert Path(library).parent == checkout / "target" / "release"
    assert place in {"kdissect/_native.abi3.so", "kdissect/_native.pyd"}
    assert not app.warnings


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        ("linux-x86_64", "linux_x86_64"),
        ("linux-aarch64", "linux_aarch64"),
        ("macosx-11.0-arm64", "macosx_11_0_arm64"),
        ("macosx-10.13-universal2", "macosx_10_13_riscv64"),
        ("win-amd64", "win_amd64"),
    ],
)
def test_the_platform_of_a_wheel(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, said: str, tag: str
) -> None:
    _cargo(checkout / "bin", "exit 0")
    monkeypatch.setattr("sysconfig.get_platform", lambda: said)
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    hook, _ = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert data["tag"] == f"cp311-abi3-{tag}"


def test_an_editable_install_has_it_beside_the_sources(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{checkout / 'bin'}:/usr/bin:/bin")
    built = " ".join(f'"$CARGO_TARGET_DIR/release/{name}"' for name in LIBRARIES)
    _cargo(checkout / "bin", f'mkdir -p "$CARGO_TARGET_DIR/release"; touch {built}')
    for old in ("_native_missing.txt", "_native.cpython-311-x86_64-linux-gnu.so"):
        (checkout / "kdissect" / old).write_text("of an earlier build")
    hook, _ = _hook(checkout)
    data = _data()
    hook.initialize("editable", data)
    assert data["force_include"] == {}
    (library,) = (checkout / "kdissect").iterdir()
    assert library.name in {"_native.abi3.so", "_native.pyd"}
    assert library.read_bytes() == b""


def test_an_editable_install_without_has_the_reason_beside_the_sources(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDISSECT_NATIVE", "0")
    _cargo(checkout / "bin", "exit 101")
    hook, app = _hook(checkout)
    data = _data()
    hook.initialize("editable", data)
    assert data == _data()
    assert (
        checkout / "kdissect" / "_native_missing.txt"
    ).read_text() == "KDISSECT_NATIVE=0 when it was installed\n"
    assert not app.warnings


def test_a_source_distribution_compiles_nothing(checkout: Path) -> None:
    _cargo(checkout / "bin", "exit 101")
    hook, app = _hook(checkout, "sdist")
    data = _data()
    hook.initialize("standard", data)
    assert data == _data()
    assert not app.warnings


@pytest.mark.parametrize("wanted", ["0", "1"])
def test_the_environment_decides_and_the_version_tells(wanted: str) -> None:
    command = [sys.executable, "-m", "kdissect", "--version"]
    run = subprocess.run(
        command, env={**os.environ, "KDISSECT_NATIVE": wanted}, capture_output=True, text=True, check=True
    )
    is_compiled = wanted == "1" and importlib.util.find_spec("kdissect._native") is not None
    told = run.stdout.splitlines()[1].removeprefix("compiled hot path: ")
    if is_compiled:
        assert told == "yes"
    elif wanted == "0":
        assert told == "no (KDISSECT_NATIVE=0)"
    else:
        assert re.fullmatch(r"no \(.+\)", told)


def test_one_of_another_version_is_not_used() -> None:
    pytest.importorskip("kdissect._native", reason="no compiled hot path (docs/native.md)")
    program = (
        "import kdissect._native as found; found.INTERFACE -= 1\n"
        "from kdissect.model.native import is_compiled, native, why_without\n"
        "print(is_compiled, native, why_without())"
    )
    env = {**os.environ, "KDISSECT_NATIVE": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert run.stdout == "False None it was built for another version of kdissect\n"


def test_one_without_a_number_or_that_cannot_be_loaded_is_not_used(tmp_path: Path) -> None:
    program = (
        "import sys, types\n{}\nfrom kdissect.model.native import is_compiled, why_without\n"
        "print(is_compiled, why_without())"
    )
    empty = "sys.modules['kdissect._native'] = types.ModuleType('kdissect._native')"
    broken = (
        "import kdissect, importlib.abc\n"
        "class Broken(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'kdissect._native': raise ImportError('libc.so.9: cannot open')\n"
        "sys.meta_path.insert(0, Broken())"
    )
    env = {**os.environ, "KDISSECT_NATIVE": "1"}
    for made, told in (
        (empty, "False it was built for another version of kdissect\n"),
        (broken, "False it cannot be loaded: libc.so.9: cannot open\n"),
    ):
        command = [sys.executable, "-c", program.format(made)]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert run.stdout == told


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_the_type_stub_is_shipped_and_no_library_of_this_checkout(target: str) -> None:
    reason = "hatchling, which builds the wheel, is not installed"
    builders = pytest.importorskip(f"hatchling.builders.{target}", reason=reason)
    builder = getattr(builders, {"wheel": "WheelBuilder", "sdist": "SdistBuilder"}[target])(str(CHECKOUT))
    files = {file.distribution_path for file in builder.recurse_included_files()}
    assert {name for name in files if name.startswith("kdissect/_native")} == {"kdissect/_native.pyi"}
