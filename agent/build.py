"""Builds the agent of `kdissect tap`: `python agent/build.py` writes kdissect/tap/kdissect-tap.jar.

With `--check` it is built, and compared with the one there: exit code 1 where they differ. The same sources,
the same ASM and a compiler of the same feature release of Java give the same bytes.
"""

import hashlib
import io
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_JAR = _HERE.parent / "kdissect" / "tap" / "kdissect-tap.jar"
_ASM = "https://repo1.maven.org/maven2/org/ow2/asm/asm/9.9.1/asm-9.9.1.jar"
_ASM_SHA256 = "6f3828a215c920059a5efa2fb55c233d6c54ec5cadca99ce1b1bdd10077c7ddd"
_JDK = 17  # other releases compile some things into other bytes
_MOVED = (b"org/objectweb/asm", b"kdissect/tap/asm")
_MAX_BYTES = 250_000
_TIME = (1980, 1, 1, 0, 0, 0)
_MANIFEST = (
    "Manifest-Version: 1.0\r\nPremain-Class: kdissect.tap.Agent\r\nAgent-Class: kdissect.tap.Agent\r\n"
    "Can-Retransform-Classes: true\r\nCan-Redefine-Classes: false\r\n\r\n"
)
# Bytes of a constant by its tag, behind the tag (JVMS table 4.4-B); 1 is text, 5 and 6 take two numbers.
_CONSTANTS = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}


def main(arguments: list[str]) -> int:
    """Build; gives the exit code."""
    built = build()
    if len(built) > _MAX_BYTES:
        print(f"{len(built)} bytes: more than {_MAX_BYTES}")
        return 1
    if "--check" in arguments:
        same = _JAR.read_bytes() == built
        print(f"{_JAR.name}: {'the same' if same else 'differs'}, {hashlib.sha256(built).hexdigest()}")
        return 0 if same else 1
    new = _JAR.with_suffix(".new")
    new.write_bytes(built)
    new.replace(_JAR)  # a JVM that has the old one open goes on with it
    print(f"{_JAR.name}: {len(built)} bytes, {hashlib.sha256(built).hexdigest()}")
    return 0


def build() -> bytes:
    """Return the bytes of the jar. Raises SystemExit where the compiler is missing or another."""
    asm = _asm()
    files = {"META-INF/MANIFEST.MF": _MANIFEST.encode()}
    files["META-INF/LICENSE-ASM.txt"] = (_HERE / "LICENSE-ASM.txt").read_bytes()
    with zipfile.ZipFile(io.BytesIO(asm)) as archive:
        names = [name for name in archive.namelist() if name.startswith("org/") and name.endswith(".class")]
        files |= {f"inner/{_moved(name.encode()).decode()}": relocated(archive.read(name)) for name in names}
    files |= _compiled(asm)
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive:
        for name in sorted(files, key=lambda name: (name != "META-INF/MANIFEST.MF", name)):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 9)
    return result.getvalue()


def relocated(code: bytes) -> bytes:
    """Return a class file whose texts name ASM by its new package."""
    return renamed(code, _moved)


def renamed(code: bytes, new: Callable[[bytes], bytes]) -> bytes:
    """Return a class file whose texts are what `new` makes of them."""
    count = struct.unpack_from(">H", code, 8)[0]
    parts = [code[:10]]
    at, number = 10, 1
    while number < count:
        tag = code[at]
        if tag == 1:
            (length,) = struct.unpack_from(">H", code, at + 1)
            text = new(code[at + 3 : at + 3 + length])
            parts.append(b"\x01" + struct.pack(">H", len(text)) + text)
            at += 3 + length
        else:
            end = at + 1 + _CONSTANTS[tag]
            parts.append(code[at:end])
            at = end
        number += 2 if tag in (5, 6) else 1
    return b"".join([*parts, code[at:]])


def _moved(text: bytes) -> bytes:
    return text.replace(*_MOVED)


def _asm() -> bytes:
    with urllib.request.urlopen(_ASM, timeout=60) as answer:
        data: bytes = answer.read()
    found = hashlib.sha256(data).hexdigest()
    if found != _ASM_SHA256:
        raise SystemExit(f"{_ASM}: SHA-256 {found}, not {_ASM_SHA256}")
    return data


def _compiled(asm: bytes) -> dict[str, bytes]:
    compiler = shutil.which("javac")
    if compiler is None:
        raise SystemExit(f"javac is not installed: needed to build the agent (JDK {_JDK})")
    version = subprocess.run([compiler, "-version"], capture_output=True, text=True, check=True)
    release = re.search(r"\d+", version.stdout + version.stderr)
    if release is None or int(release[0]) != _JDK:
        raise SystemExit(f"javac {_JDK} is needed for the same bytes; this is {version.stdout.strip()}")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "asm.jar")
        library.write_bytes(asm)
        target = Path(folder, "classes")
        sources = sorted(map(str, (_HERE / "src").rglob("*.java")))
        options = [
            "--release",
            "8",
            "-g:none",
            "-Xlint:all,-options,-classfile",
            "-Werror",
            "-encoding",
            "UTF-8",
            "-cp",
            str(library),
        ]
        subprocess.run([compiler, *options, "-d", str(target), *sources], check=True)
        found = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*.class")}
    return {f"inner/{name}" if "/inner/" in name else name: relocated(code) for name, code in found.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
