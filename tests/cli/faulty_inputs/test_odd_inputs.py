"""Names, directories, streams and surroundings that no user means to give, in processes of their own.

No traceback leaves, exit code 1 means findings and nothing else, and what can be read is read.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kdissect.cli import main
from tests.support.console import CAPTURES, CHECKOUT, Ran

CAPTURE = CAPTURES / "kafka44_java_produce.pcapng"
NOBODY = 65534
# Every command that reads captures, and its ways to write.
READING = (
    "inspect --format jsonl", "inspect --format tsv", "inspect --format csv", "inspect --format tree",
    "inspect --format jsonl --jobs 2", "info", "info --format json", "connections --format csv",
    "records --format jsonl", "records --format csv", "records --format parquet -o {}/o", "stats", "topics",
    "groups", "producers", "fetch-sessions", "logins", "changes", "access",
    "offsets", "delay", "mirror", "upgrade --target 4.0", "why",
    f"diff {CAPTURE}", "check", "check --format json",
    "check --format html", "check --format sarif", "check --format junit", "check --format markdown",
    "check --format github", "check --evidence {}/evidence", "check --report html={}/report",
    "extract -o {}/x", "extract --connections -o {}/x", "extract --redact -o {}/x",
    "tables --output {}/tables --overwrite", "live -",
)  # fmt: skip
# What a format changes is how standard output looks: of those, processes try the first of each command.
TRIED = [
    each for number, each in enumerate(READING)
    if "{}" in each or each.split()[0] not in {other.split()[0] for other in READING[:number]}
]  # fmt: skip
TRIED_ON_FILES = [each for each in TRIED if each != "live -"]
# Those that read nothing; `{}` is no file of theirs.
PRINTING = (
    "--help", "--version", "info --help", "check --help", "tables --help", "rules", "rules FRM001", "fields",
    "limits", "schema Fetch 4", "completion bash", "check --schema", "tables --describe",
    "decode 00000004", "live --list-interfaces",
)  # fmt: skip
NAMES = {
    "no UTF-8": b"a\xff\xfe.pcap",
    "a newline": b"a\nb.pcap",
    "a dash": b"-a.pcap",
    "an escape": b"\x1b[2J.pcap",
    "quotes": b"'\"<b>&;.pcap",
    "long": b"x" * 250 + b".pcap",
}
MISSING = {"too long": b"x" * 4000, "empty": b"", "longer than a path": b"y/" * 4000}


def run(command: str, folder: Path, *paths: "bytes | str | Path", shell: str = "", **environment: str) -> Ran:
    """Return a command in a process; `shell` follows it (`>&-`)."""
    words = [word.format(folder) for word in command.split()]
    call: list[bytes | str | Path] = [sys.executable, "-m", "kdissect", *words]
    if paths:
        call += ["--", *paths] if words[0] != "live" else paths
    if shell:
        call = ["bash", "-c", f'"$@" {shell}', "bash", *call]
    ran = subprocess.run(
        call,
        capture_output=True,
        env={**os.environ, **environment},
        cwd=folder,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def check(ran: Ran, *codes: int) -> None:
    assert "Traceback" not in ran.err, ran.err
    assert "a fault of kdissect" not in ran.err, ran.err
    assert ran.code in codes, (ran.code, ran.err)


def put(folder: Path, name: bytes) -> bytes:
    path = os.path.join(os.fsencode(folder), name)  # noqa: PTH118  names that are no text
    shutil.copyfile(CAPTURE, path)
    return path


@pytest.mark.parametrize("command", READING)
def test_a_name_that_is_no_utf8(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "live -":
        pytest.skip("reads no file")
    monkeypatch.chdir(CHECKOUT)  # where processes of `--jobs` find it
    path = os.fsdecode(put(tmp_path, NAMES["no UTF-8"]))
    words = [word.format(tmp_path) for word in command.split()]
    assert main([*words, "--", path]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert "\\udc" not in out
    if "sha256" in out:
        assert "no hash" not in out


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", TRIED_ON_FILES)
def test_every_command_takes_every_name(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process; the next test has processes, whose arguments the names are."""
    monkeypatch.chdir(tmp_path)
    words = [word.format(tmp_path) for word in command.split()]

    def ran(path: str) -> tuple[int, int]:
        return main([*words, "--", path]), capfd.readouterr().err.count("\n")

    plain = ran(str(CAPTURE))
    for name in NAMES.values():
        assert ran(os.fsdecode(put(tmp_path, name))) == plain, name


@pytest.mark.parametrize("name", NAMES)
def test_names_in_a_directory_and_alone(name: str, tmp_path: Path) -> None:
    put(tmp_path, NAMES[name])
    put(tmp_path, b"other.pcap")
    ran = run("info", tmp_path, tmp_path)
    check(ran, 0)
    assert ran.out.count("pcapng, ETHERNET") == 2
    if name == "no UTF-8":
        assert "a\\xff\\xfe.pcap" in ran.out


@pytest.mark.parametrize("name", MISSING)
def test_names_that_cannot_be(name: str, tmp_path: Path) -> None:
    ran = run("inspect --format jsonl", tmp_path, MISSING[name], CAPTURE)
    check(ran, 3)
    assert len(ran.out.splitlines()) > 10
    assert ran.err.count("\n") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("command", TRIED_ON_FILES)
def test_every_command_tells_names_that_cannot_be(command: str, name: str, tmp_path: Path) -> None:
    others = [] if command.startswith("diff") else [CAPTURE]  # which has one already, and takes two
    check(run(command, tmp_path, MISSING[name], *others), 3)


def make_odd(folder: Path) -> None:
    """Make a directory with one capture and other files that look like captures."""
    shutil.copy(CAPTURE, folder / "good.pcap")
    (folder / "loop.pcap").symlink_to("loop.pcap")
    (folder / "loop").symlink_to("loop")
    (folder / "round").symlink_to(".")
    (folder / "nowhere").symlink_to("missing")
    (folder / "dir.pcap").mkdir()


@pytest.mark.parametrize("command", ["info", "check"])
def test_links_to_themselves(command: str, tmp_path: Path) -> None:
    (odd := tmp_path / "odd").mkdir()
    make_odd(odd)
    ran = run(command, tmp_path, odd)
    check(ran, 3)
    assert ran.err == f"kdissect: {odd}/loop.pcap: Too many levels of symbolic links\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", TRIED_ON_FILES)
def test_every_command_reads_an_odd_directory(command: str, tmp_path: Path) -> None:
    (odd := tmp_path / "odd").mkdir()
    make_odd(odd)
    check(run(command, tmp_path, odd), 3)


# As somebody else, who may not look everywhere. The first run has what is imported be there: Python itself
# may lie where nobody else may look.
AS_NOBODY = """
import os, sys
from kdissect.cli import main
said, sys.stderr = sys.stderr, open(os.devnull, "w")
main(["info", "-o", "/dev/null", sys.argv[2], "/missing"])
sys.stderr = said
os.setgid(65534); os.setgroups([]); os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_what_may_not_be_read_is_told() -> None:
    with TemporaryDirectory() as folder:  # that of pytest is for one user only
        Path(folder).chmod(0o755)
        try_as_nobody(Path(folder))


def try_as_nobody(place: Path) -> None:
    closed, odd = place / "closed", place / "odd"
    for folder in (closed, odd, odd / "below"):
        folder.mkdir()
        shutil.copy(CAPTURE, folder / "good.pcap")
    (odd / "link.pcap").symlink_to(closed / "good.pcap")
    shutil.copy(CAPTURE, odd / "mine.pcap")
    (odd / "mine.pcap").chmod(0)
    for folder in (closed, odd / "below"):
        folder.chmod(0)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, "info", str(odd), str(closed)],
            capture_output=True, env=os.environ, cwd="/", check=False,
        )  # fmt: skip
    finally:
        for folder in (closed, odd / "below"):
            folder.chmod(0o755)
    assert ran.returncode == 3
    assert ran.stdout.count(b"pcapng, ETHERNET") == 1
    assert sorted(ran.stderr.decode().splitlines()) == sorted(
        f"kdissect: {path}: Permission denied" for path in (odd / "link.pcap", odd / "mine.pcap", closed)
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("most", [24, 64])
def test_few_descriptors(most: int, tmp_path: Path) -> None:
    for number in range(most + 10):
        shutil.copy(CAPTURE, tmp_path / f"f{number}.pcap")
    words = f"ulimit -n {most}; exec {sys.executable} -m kdissect inspect --format jsonl {tmp_path}"
    ran = subprocess.run(["bash", "-c", words], capture_output=True, cwd=CHECKOUT, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    one = run("inspect --format jsonl", tmp_path, CAPTURE)
    assert ran.stdout.count(b"\n") == (most + 10) * one.out.count("\n")


CLOSED = {">&-": "Bad file descriptor", ">/dev/full": "No space left on device"}


def try_stream(command: str, shell: str, folder: Path) -> None:
    files = () if command in PRINTING else (CAPTURE,)
    ran = run(command, folder, *files, shell=shell)
    check(ran, 3)
    assert ran.err.count("standard output: ") == 1
    assert ran.err.endswith(f"standard output: {CLOSED[shell]}\n")


STREAMED = [
    command for command in READING if "{}" not in command or "evidence" in command or "report" in command
]
STREAMED.remove("live -")
STREAMED.remove("groups")  # there is none in this capture, and nothing to print


@pytest.mark.parametrize("shell", CLOSED)
@pytest.mark.parametrize("command", ["--help", "--version", "info --help", "fields", "check", "inspect"])
def test_output_that_takes_nothing(command: str, shell: str, tmp_path: Path) -> None:
    files = () if command in PRINTING else (CAPTURE,)
    ran = run(command, tmp_path, *files, shell=shell)
    check(ran, 3)
    assert ran.err == f"kdissect: standard output: {CLOSED[shell]}\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("shell", CLOSED)
@pytest.mark.parametrize("command", [*STREAMED, *PRINTING])
def test_every_command_tells_output_that_takes_nothing(command: str, shell: str, tmp_path: Path) -> None:
    try_stream(command, shell, tmp_path)


def test_findings_that_cannot_be_told_are_no_findings(tmp_path: Path) -> None:
    bad = CAPTURES / "kafka44_rdkafka_admin.pcapng"
    assert run("check --strict --fail-on warning", tmp_path, bad).code == 1
    check(run("check --strict --fail-on warning", tmp_path, bad, shell=">/dev/full"), 3)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("shell", ["2>&-", "2>/dev/full", "<&-"])
@pytest.mark.parametrize("command", ["info", "check", "nothing"])
def test_other_streams_that_are_closed(command: str, shell: str, tmp_path: Path) -> None:
    plain = run(command, tmp_path, CAPTURE)
    ran = run(command, tmp_path, CAPTURE, shell=shell)
    assert (ran.code, ran.out) == (plain.code, plain.out)


def test_a_closed_standard_input_cannot_be_read(tmp_path: Path) -> None:
    ran = run("info -", tmp_path, shell="<&-")
    check(ran, 3)
    assert ran.err.count("\n") == 1
    check(run("decode -", tmp_path, shell="<&-"), 3)


def test_a_closed_output_is_not_what_is_opened_next(tmp_path: Path) -> None:
    old = tmp_path / "report"
    check(run("check --report json={}/report", tmp_path, CAPTURE, shell=">&-"), 3)
    assert isinstance(json.loads(old.read_text()), dict)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    ran = run("inspect --format tree --bodies", tmp_path, CAPTURE, shell="| true; exit ${PIPESTATUS[0]}")
    assert ran == Ran(0, "", "")


SURROUNDINGS: dict[str, dict[str, str]] = {
    "no home": {"HOME": "", "XDG_CACHE_HOME": "/proc/none", "XDG_STATE_HOME": "/proc/none"},
    "locale C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX": {"LC_ALL": "POSIX"},
    "no locale": {"LC_ALL": "xx_YY.nonsense"},
    "no room for temporary files": {"TMPDIR": "/proc/none"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
}
# Those that do not touch each other, in one process.
TOGETHER = (
    ("locale C", "no home"), ("POSIX", "no room for temporary files"), ("no locale", "unbuffered"),
)  # fmt: skip


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings_change_nothing(name: str, tmp_path: Path) -> None:
    path = put(tmp_path, "\u00e9.pcap".encode())
    plain = run("info", tmp_path, path)
    assert run("info", tmp_path, path, **SURROUNDINGS[name]) == plain


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", [*TRIED, *PRINTING])
def test_surroundings_change_nothing_in_any_command(command: str, tmp_path: Path) -> None:
    path = put(tmp_path, "\u00e9\xff.pcap".encode())
    files = () if command in PRINTING or command == "live -" else (path,)
    plain = run(command, tmp_path, *files)
    for names in TOGETHER:
        surroundings = {key: value for name in names for key, value in SURROUNDINGS[name].items()}
        ran = run(command, tmp_path, *files, **surroundings)
        check(ran, plain.code)
        assert ran.out == plain.out, names


# Python's own files of bytecode are not asked for (-B): it does without where it cannot write them.
READ_ONLY = """
import os, sys
import kdissect
FOLDER = os.path.dirname(kdissect.__file__)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}

def refuse(event, arguments):
    if event == "open" and arguments[2] & WRITES or event in CHANGES:
        path = arguments[0]
        if isinstance(path, (str, bytes)) and os.fsdecode(os.path.abspath(path)).startswith(FOLDER):
            sys.__stderr__.write(f"{event} {path!r}\\n")
            raise OSError(30, "Read-only file system", path)

sys.addaudithook(refuse)
if sys.argv[1] == "itself":
    open(os.path.join(FOLDER, "new"), "w")
from kdissect.cli import main
sys.exit(max(main(line.split("|")) for line in sys.argv[1:]))
"""


@pytest.mark.exhaustive
def test_an_installation_that_nobody_may_write_to(tmp_path: Path) -> None:
    def tried(*lines: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-B", "-c", READ_ONLY, *lines]
        return subprocess.run(call, capture_output=True, text=True, cwd=CHECKOUT, check=False)

    assert "Read-only file system" in tried("itself").stderr
    lines = [
        "|".join([*command.format(tmp_path).split(), str(CAPTURE)])
        for command in READING
        if command != "live -" and "--jobs" not in command
    ]
    ran = tried(*lines)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("command", ["info", "check"])
def test_a_working_directory_that_was_removed(command: str, tmp_path: Path) -> None:
    (gone := tmp_path / "gone").mkdir()
    words = " ".join(word.format(tmp_path) for word in command.split())
    line = f"cd {gone}; rmdir {gone}; {sys.executable} -m kdissect {words}"
    for path, code in ((str(CAPTURE), 0), ("gone.pcap", 3)):
        ran = subprocess.run(
            ["bash", "-c", f"{line} {path}"],
            capture_output=True, env=os.environ, cwd=CHECKOUT, check=False,
        )  # fmt: skip
        check(Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode()), code)


def test_files_that_vanish_and_grow_between_listing_and_reading(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kdissect.capture import input_paths as paths

    names = [tmp_path / f"f{number}.pcap" for number in range(4)]
    for path in names:
        shutil.copy(CAPTURE, path)
    whole = names[3].read_bytes()
    names[3].write_bytes(whole[: len(whole) // 2])
    begins = paths.begins_like_capture

    def change(path: str) -> bool:
        if path == str(names[1]):
            names[1].unlink()
            names[2].unlink()
            names[3].write_bytes(whole)
        return begins(path)

    monkeypatch.setattr(paths, "begins_like_capture", change)
    assert main(["info", str(tmp_path)]) == 3
    out, err = capfd.readouterr()
    assert out.count("pcapng, ETHERNET") == 2
    assert err.splitlines() == [f"kdissect: {path}: No such file or directory" for path in names[1:3]]


def test_a_link_to_itself_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "?.pcap").symlink_to("?.pcap")
    ran = run("info", tmp_path, tmp_path / "?.pcap")
    check(ran, 3)
    assert ran.err == f"kdissect: {tmp_path}/?.pcap: Too many levels of symbolic links\n"


@pytest.mark.exhaustive
def test_thousands_of_files(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"{number}.pcap").write_bytes(
            b"\xd4\xc3\xb2\xa1\2\0\4\0" + bytes(8) + b"\xff\xff\0\0\1\0\0\0"
        )
    ran = run("info --format json", tmp_path, tmp_path)
    check(ran, 3)
    assert ran.err.count("no packets, only a file header\n") == 10_000
