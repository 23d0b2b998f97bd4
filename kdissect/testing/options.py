"""What a test asks of the wire: the arguments of the marker, and the project's configuration below them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kdissect.config.find import find_config
from kdissect.config.read import ConfigFile, read_config
from kdissect.config.suppression import Suppression, parse_suppressions
from kdissect.report.baseline import Baseline, parse_baseline

# Keys of the configuration that a test follows; the others are about the command.
_KEYS = {"select": list, "ignore": list, "judge": str, "strict": bool, "fail-on": str, "label": dict}
_FAIL_ON = ("error", "warning", "never")
_JUDGE = ("client", "broker", "both")


class WireOptions:
    """Arguments of the marker `kafka_wire`.

    `port` is one or several; `label` names ends, as `--label`; `allow_empty` lets a test pass whose traffic
    holds no Kafka. The others are as the options of `kdissect check`. Raises ValueError for what makes no
    sense, TypeError for an unknown name.
    """

    def __init__(
        self,
        *,
        port: int | Iterable[int] = (),
        interface: str | None = None,
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
        judge: str = "both",
        strict: bool = False,
        fail_on: str = "error",
        label: Mapping[str, str] | None = None,
        allow_empty: bool = False,
    ) -> None:
        self.ports = [port] if isinstance(port, int) else list(port)
        self.interface = interface
        self.select = _words(select)
        self.ignore = _words(ignore)
        self.judge = _one_of("judge", judge, _JUDGE)
        self.strict = strict
        self.fail_on = _one_of("fail_on", fail_on, _FAIL_ON)
        self.label = dict(label or {})
        self.allow_empty = allow_empty
        self.suppressions: Sequence[Suppression] = ()
        self.baseline: Baseline | None = None


def wire_options(given: Mapping[str, Any], folder: str) -> WireOptions:
    """The options of a test: what the markers give, else what the configuration nearest to `folder` says.

    Raises ConfigError for a file that cannot be used.
    """
    path = find_config(folder)
    if path is None:
        return WireOptions(**given)
    file = read_config(path)
    options = WireOptions(**{**_from_file(file, "select" in given), **given})
    options.suppressions = parse_suppressions(file)
    options.baseline = _baseline(file)
    return options


def _baseline(file: ConfigFile) -> Baseline | None:
    name = file.table.get("baseline")
    if name is None:
        return None
    try:
        path = Path(file.path).parent / name
        return parse_baseline(str(path), path.read_text("utf-8"))
    except (OSError, TypeError, ValueError) as error:
        raise file.error(("baseline",), str(error)) from None


def _from_file(file: ConfigFile, selects: bool) -> dict[str, Any]:
    found = {}
    for key, kind in _KEYS.items():
        if key in file.table and not (selects and key == "ignore"):
            value = file.table[key]
            if not isinstance(value, kind):
                raise file.error((key,), f"{key!r} is no {kind.__name__}")
            found[key.replace("-", "_")] = value
    return found


def _words(words: Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")
    return value
