"""From what the user names (files, directories, patterns, `-`) to inputs that can be read.

`os.path` instead of `pathlib`, whose import costs a tenth of the time in which a small capture is to be
answered.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import BinaryIO

from kdissect.capture.byte_source import STDIN, FileSource, StreamSource
from kdissect.capture.capture_file import CaptureFile, peek
from kdissect.capture.compression import CorruptStreamError, CutStreamError, decompress, detect_compression
from kdissect.capture.filesystems import is_url, without_options
from kdissect.capture.formats.capture_parser import CaptureParser
from kdissect.capture.formats.file_format import parser_for
from kdissect.capture.rotation import natural_order
from kdissect.model.errors import CaptureError
from kdissect.model.faults import fault_text

_SNIFF = 1 << 12  # bytes: enough compressed data of any format for the first 4 bytes
# Patterns are compiled at their use, because most runs do not need them.
_CAPTURE_NAME = r"(?i)\.(?:pcapng|pcap|cap)\d*(?:\.(?:gz|zst|lz4))?$"
_PATTERN = r"[*?[]"


def find_inputs(
    paths: Sequence[str | os.PathLike[str]], recursive: bool = False, stdin: BinaryIO | None = None
) -> list[CaptureFile]:
    """Return the inputs in the order of `paths`, and within a directory or pattern in natural order of their
    names.

    A URL (`s3://...`) is read through the file system that it names, see `capture.objects`. A path that is
    missing, unreadable, or a directory without captures becomes an input with its `error` set. In a directory
    only files that begin like a capture of packets count, hidden files do not. Files in directories below it
    count only if `recursive`. Request logs must be named, because they may be of the same exchanges. A file
    named twice, also through a link, counts once.
    """
    seen: set[object] = set()
    inputs = []
    for path in [os.fspath(path) for path in paths]:
        for candidate, identity in _bounded(_inputs_of(path, recursive, stdin), path):
            if identity not in seen:
                seen.add(identity)
                inputs.append(candidate)
    return inputs


def _bounded(found: Iterator[tuple[CaptureFile, object]], path: str) -> Iterator[tuple[CaptureFile, object]]:
    """Yield the inputs of a path, up to an exception of the search."""
    try:
        yield from found
    except OSError as error:
        yield _unreadable(path, error.strerror or str(error))
    except Exception as error:
        yield _unreadable(path, fault_text(error))


def _inputs_of(path: str, recursive: bool, stdin: BinaryIO | None) -> Iterator[tuple[CaptureFile, object]]:
    """Yield (input, its identity) for all inputs of a path."""
    if path == STDIN:
        yield CaptureFile(path, StreamSource(path, stdin), None), STDIN
        return
    try:
        facts = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if is_url(path):
            yield from _objects(path, recursive)
        elif not os.path.lexists(path) and re.search(_PATTERN, path):
            yield from _matches(path, recursive)
        else:
            yield _unreadable(path, getattr(error, "strerror", None) or str(error))
        return
    if stat.S_ISDIR(facts.st_mode):
        yield from _captures_in(path, recursive)
    elif stat.S_ISREG(facts.st_mode):
        # Some file systems have no inode numbers: there the path has to do.
        yield CaptureFile(path, FileSource(path), facts.st_size), (facts.st_dev, facts.st_ino or path)
    else:
        yield CaptureFile(path, StreamSource(path), None), path


def _matches(pattern: str, recursive: bool) -> Iterator[tuple[CaptureFile, object]]:
    """Yield the inputs of a pattern the shell left alone (quoted, or a shell that expands none)."""
    import glob  # only here: a shell usually expands patterns itself

    found = sorted(glob.glob(pattern, recursive=True), key=natural_order)  # noqa: PTH207
    if not found:
        yield _unreadable(pattern, "no file matches")
    for path in found:
        yield from _inputs_of(path, recursive, None)


def _objects(url: str, recursive: bool) -> Iterator[tuple[CaptureFile, object]]:
    """Yield the inputs of a URL."""
    from kdissect.capture.objects import ObjectSource, objects_at, without_credentials  # start-up

    try:
        found, is_file = objects_at(url, recursive)
    except OSError as error:
        yield _unreadable(without_credentials(url), error.strerror or str(error))
        return
    captures = [place for place in found if is_file or _begins(ObjectSource(place.url))]
    if not captures:
        yield _unreadable(url, "no captures there")
    for place in captures:
        yield CaptureFile(place.url, ObjectSource(place.url), place.size), place.url


def _captures_in(directory: str, recursive: bool) -> Iterator[tuple[CaptureFile, object]]:
    found = False
    closed: list[tuple[str, OSError]] = []
    for path in files_in(directory, recursive, lambda *one: closed.append(one)):
        if begins_like_capture(path):
            found = True
            yield from _bounded(_inputs_of(path, recursive, None), path)
    for place, error in closed:
        yield _unreadable(place, error.strerror or str(error))
    if not found and not closed:
        logs = sum(map(_is_request_log, files_in(directory, recursive)))
        why = "no captures in this directory" + (
            "" if recursive else " (directories below it were not searched)"
        )
        if logs:
            from kdissect.model.wording import plural  # start-up

            why += f"; {plural(logs, 'request log')} in it: name the files"
        yield _unreadable(directory, why)


def files_in(
    directory: str, recursive: bool, cannot: Callable[[str, OSError], None] | None = None
) -> Iterator[str]:
    """Yield paths of the regular files that are not hidden, in natural order, directories after files.

    An entry whose links or permissions prevent a test counts as a file, and the opener reports it. `cannot`
    receives directories that cannot be searched.
    """
    try:
        with os.scandir(directory) as entries:
            visible = sorted((e for e in entries if e.name[0] != "."), key=lambda e: natural_order(e.name))
    except OSError as error:
        if cannot is not None:
            cannot(directory, error)
        return
    yield from (entry.path for entry in visible if _holds(entry.is_file))
    if recursive:
        for entry in visible:
            if _holds(partial(entry.is_dir, follow_symlinks=False)):  # links to directories may form a circle
                yield from files_in(entry.path, recursive, cannot)


def _holds(test: Callable[[], bool]) -> bool:
    """Return whether a test of a directory's entry succeeds or is impossible: a link to itself, or to a
    forbidden place.
    """
    try:
        return test()
    except OSError:
        return True


def begins_like_capture(path: str) -> bool:
    """Return whether to read a directory's file, by path or URL. One that cannot be opened counts by its
    name.
    """
    try:
        if is_url(path):
            from kdissect.capture.objects import ObjectSource  # start-up

            return _begins(ObjectSource(path))
        return _begins(FileSource(path))
    except Exception as error:  # then it is read, and that reports it
        fault_text(error)
        return True


def _begins(source: FileSource) -> bool:
    source.chunk_size = _SNIFF
    try:
        kind = _kind_of(source)
    except OSError:
        return bool(re.search(_CAPTURE_NAME, without_options(source.path)))
    return kind is not None and kind.is_packet_capture


def _is_request_log(path: str) -> bool:
    try:
        kind = _kind_of(FileSource(path))
    except OSError:
        return False
    return kind is not None and not kind.is_packet_capture


def _kind_of(source: FileSource) -> type[CaptureParser] | None:
    """Return the parser for a file by its first bytes. Raises OSError."""
    try:
        head, chunks = peek(source.chunks())
        head, _ = peek(decompress(chunks, detect_compression(head)))
    except (CutStreamError, CorruptStreamError):
        return None
    return parser_for(head)


def _unreadable(path: str, why: str) -> tuple[CaptureFile, object]:
    return CaptureFile(path, FileSource(path), None, CaptureError(path, why)), path
