"""The agent's jar: small, for Java 8, ASM under another name with its notice, the same when built again."""

import shutil
import struct
import subprocess
import sys
from zipfile import ZipFile

import pytest

from kdissect.tap.tap_source import agent_jar
from tests.support.console import CHECKOUT

JAVA_8 = 52  # JVMS table 4.1-A
OURS = "kdissect/tap/"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Return what is in it."""
    with ZipFile(agent_jar()) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_it_is_small() -> None:
    with open(agent_jar(), "rb") as jar:  # noqa: PTH123
        assert len(jar.read()) <= 250_000


def test_java_8_loads_its_classes(files: dict[str, bytes]) -> None:
    classes = [code for name, code in files.items() if name.endswith(".class")]
    assert max(struct.unpack_from(">H", code, 6)[0] for code in classes) == JAVA_8


def test_few_classes_are_seen_by_the_application(files: dict[str, bytes]) -> None:
    """Those that stay in a JVM; all else can be forgotten."""
    seen = {name for name in files if name.endswith(".class") and not name.startswith("inner/")}
    gates = ("Gate", "Gate$Hook", "EngineGate", "EngineGate$Hook")
    assert seen == {f"{OURS}{name}.class" for name in ("Agent", "Loader", "Loader$1", "Loader$Inner", *gates)}


def test_asm_has_another_name_and_its_notice(files: dict[str, bytes]) -> None:
    assert not [name for name, data in files.items() if b"org/objectweb/asm" in data]
    assert any(name.startswith("inner/kdissect/tap/asm/ClassReader") for name in files)
    notice = CHECKOUT / "agent" / "LICENSE-ASM.txt"
    assert files["META-INF/LICENSE-ASM.txt"] == notice.read_bytes()
    assert b"INRIA, France Telecom" in notice.read_bytes()


@pytest.mark.exhaustive
def test_the_sources_give_these_bytes() -> None:
    javac = shutil.which("javac") or pytest.skip("javac is not installed")
    version = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True).stdout
    if not version.startswith("javac 17"):
        pytest.skip(f"JDK 17 is needed for the same bytes, this is {version.strip()}")
    command = [sys.executable, "agent/build.py", "--check"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if "urlopen error" in done.stderr:
        pytest.skip("Maven Central cannot be reached")
    assert done.returncode == 0, done.stdout + done.stderr
