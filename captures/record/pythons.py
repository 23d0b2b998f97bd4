"""The drivers of the Python clients: each in an environment of its own, with the pinned versions."""

import re
import sys
from pathlib import Path

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "python"


def librdkafka() -> Driver:
    """The driver of librdkafka, through confluent-kafka; its version is that of the library inside."""
    python = _environment("librdkafka")
    question = "import confluent_kafka; print(confluent_kafka.libversion()[0])"
    version = workshop.run([str(python), "-c", question]).strip()
    return Driver("librdkafka (confluent-kafka-python)", version, _command("librdkafka", python))


def kafka_python() -> Driver:
    """The driver of kafka-python."""
    return _driver("kafka-python", "kafka_python")


def aiokafka() -> Driver:
    """The driver of aiokafka."""
    return _driver("aiokafka", "aiokafka")


_EVERY = {
    "librdkafka": ("librdkafka (confluent-kafka-python)", "confluent-kafka=={}", "typing_extensions==4.16.0"),
    "kafka_python": ("kafka-python", "kafka-python=={}"),
    "aiokafka_": ("aiokafka", "aiokafka=={}", "async-timeout==5.0.1", "packaging==26.3",
                  "typing_extensions==4.16.0"),
}  # fmt: skip


def release(client: str, version: str) -> Driver:
    """The driver of one release of a client, which knows `writes` and `reads`; librdkafka's also `serves`."""
    name, *wanted = _EVERY[client]
    python = _made(f"{client}-{version}", "\n".join(wanted).format(version))
    return Driver(name, version, _run_by(python, "every_release", f"{client}.py"))


def _driver(name: str, folder: str) -> Driver:
    found = re.search(rf"^{name}==(\S+)", (_SOURCES / folder / "requirements.txt").read_text(), re.MULTILINE)
    assert found is not None, f"{folder}/requirements.txt does not pin {name}"
    return Driver(name, found[1], _command(folder, _environment(folder)))


def _command(folder: str, python: Path) -> list[str]:
    return _run_by(python, folder, "main.py")


def _run_by(python: Path, folder: str, program: str) -> list[str]:
    return ["env", f"PYTHONPATH={_SOURCES}", str(python), str(_SOURCES / folder / program)]


def _environment(folder: str) -> Path:
    return _made(folder, (_SOURCES / folder / "requirements.txt").read_text())


def _made(name: str, wanted: str) -> Path:
    """The interpreter of a client's virtual environment, made anew when its requirements changed."""
    home = workshop.folder("python", name)
    python, done = home / "bin" / "python", home / ".requirements"
    if not done.exists() or done.read_text() != wanted:
        workshop.run([sys.executable, "-m", "venv", "--clear", str(home)])
        requirements = home / "requirements.txt"
        requirements.write_text(wanted)
        workshop.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "-r", str(requirements)])
        done.write_text(wanted)
    return python
