"""Adds the compiled hot path to the wheel where a Rust compiler is found (docs/native.md).

Without one, or with `KDISSECT_NATIVE=0` in the environment, the wheel is pure Python and says so while it is
built (`pip install -v`): kdissect does the same without, and is slower.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Crates are fetched and compiled; a machine on which that hangs gets the wheel without.
TIMEOUT_S = 900
_LIBRARY = {"Darwin": "lib_native.dylib", "Windows": "_native.dll"}


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's hook: `initialize` runs before the files of a wheel are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the library to the wheel; of an editable install it goes beside the sources."""
        if self.target_name != "wheel" or os.environ.get("KDISSECT_NATIVE") == "0":
            return
        library = self._compiled()
        if library is None:
            return
        name = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version == "editable":
            shutil.copy(library, Path(self.root, "kdissect", name))
        else:
            build_data["force_include"][str(library)] = f"kdissect/{name}"

    def _compiled(self) -> Path | None:
        cargo = shutil.which("cargo")
        if cargo is None:
            self._do_without("no Rust compiler (cargo) was found")
            return None
        folder = Path(self.root, "native")
        target = Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))
        command = [cargo, "build", "--release", "--locked", "--quiet", "--target-dir", str(target)]
        env = {**os.environ, "PYO3_PYTHON": sys.executable}
        try:
            subprocess.run(command, cwd=folder, env=env, check=True, timeout=TIMEOUT_S)
        except (OSError, subprocess.SubprocessError) as error:
            self._do_without(f"compiling failed ({error})")
            return None
        return target / "release" / _LIBRARY.get(platform.system(), "lib_native.so")

    def _do_without(self, why: str) -> None:
        self.app.display_warning(
            f"kdissect: {why}: installed without the compiled hot path, see docs/native.md"
        )
