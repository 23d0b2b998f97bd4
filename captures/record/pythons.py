"""The drivers of the Python clients: each in an environment of its own, with the pinned versions."""

import re
import sys
from pathlib import Path

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "python"


def librdkafka(release: str = "") -> Driver:
    """Return the driver of librdkafka, through confluent-kafka; its version is that of the library inside.

    Of another `release` it knows the actions that go on without end, as that of kafka-python.
    """
    python = _environment("librdkafka", f"confluent-kafka=={release}" if release else "")
    question = "import confluent_kafka; print(confluent_kafka.libversion()[0])"
    version = workshop.run([str(python), "-c", question]).strip()
    program = "steady.py" if release else "main.py"
    return Driver("librdkafka (confluent-kafka-python)", version, _run_by(python, "librdkafka", program))


def kafka_python(release: str = "") -> Driver:
    """Return the driver of kafka-python."""
    if not release:
        return _driver("kafka-python", "kafka_python")
    python = _environment("kafka_python", f"kafka-python=={release}")
    return Driver("kafka-python", release, _run_by(python, "kafka_python", "steady.py"))


def aiokafka() -> Driver:
    """Return the driver of aiokafka."""
    return _driver("aiokafka", "aiokafka")


_EVERY = {
    "librdkafka": ("librdkafka (confluent-kafka-python)", "confluent-kafka=={}", "typing_extensions==4.16.0"),
    "kafka_python": ("kafka-python", "kafka-python=={}"),
    "aiokafka_": ("aiokafka", "aiokafka=={}", "async-timeout==5.0.1", "packaging==26.3",
                  "typing_extensions==4.16.0"),
}  # fmt: skip


def release(client: str, version: str) -> Driver:
    """Return the driver of one release of a client, which knows `writes` and `reads`; librdkafka's also
    `serves`.
    """
    name, *wanted = _EVERY[client]
    python = _made(f"{client}-{version}", "\n".join(wanted).format(version))
    return Driver(name, version, _run_by(python, "every_release", f"{client}.py"))


def _driver(name: str, folder: str) -> Driver:
    found = re.search(rf"^{name}==(\S+)", (_SOURCES / folder / "requirements.txt").read_text(), re.MULTILINE)
    assert found is not None, f"{folder}/requirements.txt does not pin {name}"
    return Driver(name, found[1], _run_by(_environment(folder), folder, "main.py"))


def _run_by(python: Path, folder: str, program: str) -> list[str]:
    return ["env", f"PYTHONPATH={_SOURCES}", str(python), str(_SOURCES / folder / program)]


def _environment(folder: str, instead: str = "") -> Path:
    """Return the environment of a driver, or that with another requirement `instead` of the one of the
    library.
    """
    wanted = (_SOURCES / folder / "requirements.txt").read_text()
    if not instead:
        return _made(folder, wanted)
    name, _, release = instead.partition("==")
    wanted = re.sub(rf"^{name}==.*$", instead, wanted, flags=re.MULTILINE)
    return _made(f"{folder}-steady-{release}", wanted)


def _made(name: str, wanted: str) -> Path:
    """Return the interpreter of a client's virtual environment, a new one if its requirements changed."""
    home = workshop.folder("python", name)
    python, done = home / "bin" / "python", home / ".requirements"
    if not done.exists() or done.read_text() != wanted:
        workshop.run([sys.executable, "-m", "venv", "--clear", str(home)])
        requirements = home / "requirements.txt"
        requirements.write_text(wanted)
        workshop.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "-r", str(requirements)])
        done.write_text(wanted)
    return python
