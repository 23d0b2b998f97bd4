"""The build of a wheel with and without a Rust compiler."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parent.parent.parent
# What a compiler calls the library on Linux, macOS and Windows.
LIBRARIES = ("lib_native.so", "lib_native.dylib", "_native.dll")


class _App:
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


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
    """An empty checkout; what stands in its `bin` is all that is in PATH but for a shell."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "native").mkdir()
    (tmp_path / "kdissect").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("KDISSECT_NATIVE", raising=False)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    return tmp_path


def test_without_a_compiler_the_wheel_is_pure(checkout: Path) -> None:
    hook, app = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert data == _data()
    assert app.warnings == [
        "kdissect: no Rust compiler (cargo) was found: "
        "installed without the compiled hot path, see docs/native.md"
    ]


def test_a_compiler_that_fails_leaves_the_wheel_pure(checkout: Path) -> None:
    _cargo(checkout / "bin", "exit 101")
    hook, app = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert data == _data()
    assert len(app.warnings) == 1
    assert "compiling failed" in app.warnings[0]


def test_what_was_compiled_is_in_the_wheel(checkout: Path) -> None:
    _cargo(checkout / "bin", "exit 0")
    hook, app = _hook(checkout)
    data = _data()
    hook.initialize("standard", data)
    assert not data["pure_python"]
    assert data["infer_tag"]
    ((library, place),) = data["force_include"].items()
    assert Path(library).parent == checkout / "target" / "release"
    assert place.startswith("kdissect/_native")
    assert not app.warnings


def test_an_editable_install_has_it_beside_the_sources(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{checkout / 'bin'}:/usr/bin:/bin")
    built = " ".join(f'"$CARGO_TARGET_DIR/release/{name}"' for name in LIBRARIES)
    _cargo(checkout / "bin", f'mkdir -p "$CARGO_TARGET_DIR/release"; touch {built}')
    hook, _ = _hook(checkout)
    data = _data()
    hook.initialize("editable", data)
    assert data["force_include"] == {}
    assert [path.name.startswith("_native") for path in (checkout / "kdissect").iterdir()] == [True]


@pytest.mark.parametrize(("target", "wanted"), [("sdist", "1"), ("wheel", "0")])
def test_nothing_is_compiled_where_nobody_wants_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, target: str, wanted: str
) -> None:
    _cargo(checkout / "bin", "exit 101")
    monkeypatch.setenv("KDISSECT_NATIVE", wanted)
    hook, app = _hook(checkout, target)
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
    assert run.stdout.splitlines()[1] == f"compiled hot path: {'yes' if is_compiled else 'no'}"
