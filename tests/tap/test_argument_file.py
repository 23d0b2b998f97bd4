"""The secret of a tap does not stand in a command line, which every user of the machine can read."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from kdissect.tap.argument_file import argument_file, takes_argument_files
from tests.support.console import run
from tests.tap import kafka

# Shows how it was called, and what the file holds whose name begins with @.
LAUNCHER = """#!/bin/sh
cd "$(dirname "$0")"
printf '%s\\n' "$@" > words
case "$1" in @*)
  stat -c %a "${1#@}" > mode
  cat "${1#@}" > options
esac
exit 1
"""


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "java"
    path.parent.mkdir()
    path.write_text(LAUNCHER)
    path.chmod(0o755)
    return path


def launched(java: Path) -> str:
    """Return the words of its command line."""
    ran = run("tap", "-w", java.parent / "x", "--", java, "Main")
    assert (ran.code, ran.err) == (3, "kdissect: it ended with 1, and no agent came\n")
    return (java.parent / "words").read_text()


def test_the_agents_options_are_in_a_file_of_its_user(java: Path) -> None:
    (java.parent.parent / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.15"\n')
    first, second = launched(java).splitlines()
    assert (first[0], second) == ("@", "Main")
    assert (java.parent / "mode").read_text() == "600\n"
    options = (java.parent / "options").read_text()
    assert options.startswith('"-javaagent:')
    assert ",token=" in options
    assert not os.path.lexists(first[1:])


@pytest.mark.parametrize("release", [None, "", 'JAVA_VERSION="1.8.0_504"\n', 'JAVA_VERSION="8"\n'])
def test_a_java_that_may_not_take_files_is_given_them(java: Path, release: str | None) -> None:
    if release is not None:
        (java.parent.parent / "release").write_text(release)
    first, second = launched(java).splitlines()
    assert first.startswith("-javaagent:")
    assert second == "Main"


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a class that prints the system property x."""
    kafka.needs_java()
    if not takes_argument_files("java"):
        pytest.skip("needs Java 9")
    folder = tmp_path_factory.mktemp("say")
    source = folder / "Say.java"
    source.write_text(
        "public class Say { public static void main(String[] a) {\n"
        '  System.out.print(System.getProperty("x")); } }\n'
    )
    subprocess.run(["javac", "-d", folder, source], check=True)
    return folder


@pytest.mark.parametrize(
    "text", ["-Dx=a b", "-Dx=\\back\\n", '-Dx="quoted"', "-Dx=#no comment", "-Dx='", "-Dx=é"]
)
def test_java_reads_what_was_written(text: str, say: Path) -> None:
    with argument_file(text) as argument:
        assert stat.S_IMODE(Path(argument[1:]).stat().st_mode) == 0o600
        ran = subprocess.run(
            ["java", argument, "-Dsun.stdout.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-cp", say,
             "Say"],
            capture_output=True, check=True, env=os.environ | {"LC_ALL": "C.UTF-8"},
        )  # fmt: skip
    assert ran.stdout.decode() == text.removeprefix("-Dx=")


def test_a_jvm_is_tapped_without_a_secret_in_its_command_line(tmp_path: Path) -> None:
    kafka.needs_java()
    if not takes_argument_files("java"):
        pytest.skip("needs Java 9")
    source = tmp_path / "Show.java"
    source.write_text(
        "import java.nio.file.*;\n"
        "public class Show { public static void main(String[] a) throws Exception {\n"
        '  System.out.write(Files.readAllBytes(Path.of("/proc/self/cmdline"))); System.out.flush(); } }\n'
    )
    subprocess.run(["javac", "-d", tmp_path, source], check=True)
    target = tmp_path / "x.pcapng"
    ran = run("tap", "-w", target, "--", "java", "-cp", tmp_path, "Show")
    assert "Show" in ran.out
    assert "token=" not in ran.out
    assert target.stat().st_size > 0
