"""Files that are parts of one capture: the naming of tcpdump's and dumpcap's rotated files.

Sources: tcpdump(1) options -C, -W, -G and -w, dumpcap(1) option -b (ring buffer naming, `nametimenum`).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import count

from kdissect.model.wording import path_text

_COMPRESSED = (".gz", ".zst", ".zstd", ".lz4")
# tcpdump -C appends a number after the extension, with -W padded with zeros: name.pcap, name.pcap1,
# name.pcap02.
_EXTENSIONS = frozenset(("pcapng", "pcap", "cap", "ntar", "dmp", "dump"))
_DIGITS = "0123456789"
# Usual results of -G with strftime: 20240101, 2024-01-01, 20240101120000, 2024-01-01_12:00:00, 20240101T1200.
_DAY = r"(?:19|20)\d\d(?:-\d\d-\d\d|_\d\d_\d\d|\.\d\d\.\d\d|\d{4})"
_TIME = rf"{_DAY}(?:[-_.T ]?\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?)?Z?"
# The date pattern of Kafka's request log in its log4j files: kafka-request.log.2026-11-28-00.
_LOG_HOUR = r"\d{4}-\d\d-\d\d-\d\d"
_EPOCH = r"1\d{9}"  # strftime's %s: seconds since 1970, of the years 2001 to 2033
# dumpcap -b: name_00001_20240101120000, with nametimenum:2 name_20240101120000_00001; tcpdump -G: the time
# alone.
_MARK = rf"(?:^|[-_.])(?:{_LOG_HOUR}|\d{{5,}}_{_TIME}|{_TIME}_\d{{5,}}|{_TIME}|{_EPOCH})$"
# every mark has a day or more, so the pattern is compiled only for names with at least 8 digits
_MARK_DIGITS = 8

Key = tuple[str, str]
_NUMBER = r"(\d+)"


"""Directory and base name of a capture set's files."""
_UNNAMED = "capture"  # for files that are called by their time alone


def set_names(paths: Sequence[str]) -> list[str]:
    """Return for each absolute path the name of the capture set it belongs to.

    Files belong together when they are in one directory and differ in their rotation marks only. The name is
    the path without directory, extension and marks. If two directories hold sets of the same name, the
    parents that distinguish them precede the name (`host1/trace`, `host2/trace`).
    """
    keys = set_keys(paths)
    labels = set_labels(set(keys))
    return [labels[key] for key in keys]


def set_keys(paths: Sequence[str], known: Collection[Key] = ()) -> list[Key]:
    """Return for each absolute path the key of its capture set. `known` are the keys of files seen before."""
    keys = [_key(path) for path in paths]
    present = {*keys, *known}
    # tcpdump -C without an extension: trace, trace1, trace2. Only next to a `trace`: host1 and host2 are two
    # captures.
    return [_numbered(key, present) for key in keys]


def _key(path: str) -> Key:
    directory, _, name = path.replace("\\", "/").rpartition("/")
    if name.lower().endswith(_COMPRESSED):
        name = name.rpartition(".")[0]
    stem, _, extension = name.rpartition(".")
    if stem and extension.rstrip(_DIGITS).lower() in _EXTENSIONS:
        name = stem
    if sum(map(str.isdigit, name)) >= _MARK_DIGITS:
        name = re.sub(_MARK, "", name)
    return path_text(directory), path_text(name) or _UNNAMED


def _numbered(key: Key, present: set[Key]) -> Key:
    directory, name = key
    unnumbered = directory, name.rstrip(_DIGITS)
    return unnumbered if unnumbered in present else key


def set_labels(keys: Iterable[Key]) -> dict[Key, str]:
    """Return names of capture sets by key, as `set_names` gives them."""
    directories = defaultdict(list)
    for directory, name in keys:
        directories[name].append(directory)
    return {
        (directory, name): "/".join([*parents, name])
        for name, places in directories.items()
        for directory, parents in zip(places, _telling_parents(places), strict=True)
    }


def _telling_parents(directories: list[str]) -> list[list[str]]:
    """Return the fewest last components of each directory by which all of them differ, none for a single
    one.
    """
    if len(directories) == 1:
        return [[]]
    split = [directory.split("/") for directory in directories]
    for depth in count(1):
        tails = [parts[-depth:] for parts in split]
        if len({tuple(tail) for tail in tails}) == len(tails):
            return tails
    raise AssertionError("count() does not end")


# The order in which people number files.
def natural_order(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts `trace10` after `trace9`."""
    parts = re.split(_NUMBER, name)
    return [(int(part), len(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]
