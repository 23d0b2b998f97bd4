"""The driver of the client for Node.js: installed as its lock file says, into the workshop."""

import json
import shutil

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "node"


def kafkajs() -> Driver:
    """The driver of kafkajs."""
    source, target = _SOURCES / "kafkajs", workshop.folder("node", "kafkajs")
    node = workshop.program("node", "run the driver of kafkajs")
    lock = (source / "package-lock.json").read_text()
    done = target / ".lock"
    for path in source.iterdir():
        if path.is_file():
            shutil.copy(path, target)
    if not done.exists() or done.read_text() != lock:
        npm = workshop.program("npm", "install kafkajs")
        workshop.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=target)
        done.write_text(lock)
    version = json.loads(lock)["packages"]["node_modules/kafkajs"]["version"]
    return Driver("kafkajs", version, [node, str(target / "main.js")])
