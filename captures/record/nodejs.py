"""The drivers of the clients for Node.js: installed as their lock files say, into the workshop."""

import json
import shutil

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "node"


def kafkajs() -> Driver:
    """Return the driver of kafkajs."""
    return _driver("kafkajs", "kafkajs")


def platformatic() -> Driver:
    """Return the driver of @platformatic/kafka."""
    return _driver("@platformatic/kafka", "platformatic")


def _driver(package: str, folder: str) -> Driver:
    source, target = _SOURCES / folder, workshop.folder("node", folder)
    node = workshop.program("node", f"run the driver of {package}")
    lock = (source / "package-lock.json").read_text()
    done = target / ".lock"
    for path in (_SOURCES / "driving.js", *source.iterdir()):
        if path.is_file():
            shutil.copy(path, target)
    if not done.exists() or done.read_text() != lock:
        npm = workshop.program("npm", f"install {package}")
        workshop.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=target)
        done.write_text(lock)
    version = json.loads(lock)["packages"][f"node_modules/{package}"]["version"]
    return Driver(package, version, [node, str(target / "main.js")])
