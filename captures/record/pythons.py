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


def _driver(name: str, folder: str) -> Driver:
    found = re.search(rf"^{name}==(\S+)", (_SOURCES / folder / "requirements.txt").read_text(), re.MULTILINE)
    assert found is not None, f"{folder}/requirements.txt does not pin {name}"
    return Driver(name, found[1], _command(folder, _environment(folder)))


def _command(folder: str, python: Path) -> list[str]:
    return ["env", f"PYTHONPATH={_SOURCES}", str(python), str(_SOURCES / folder / "main.py")]


def _environment(folder: str) -> Path:
    """The interpreter of a client's virtual environment, made anew when its requirements changed."""
    wanted = (_SOURCES / folder / "requirements.txt").read_text()
    home = workshop.folder("python", folder)
    python, done = home / "bin" / "python", home / ".requirements"
    if not done.exists() or done.read_text() != wanted:
        workshop.run([sys.executable, "-m", "venv", "--clear", str(home)])
        requirements = str(_SOURCES / folder / "requirements.txt")
        workshop.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "-r", requirements])
        done.write_text(wanted)
    return python
