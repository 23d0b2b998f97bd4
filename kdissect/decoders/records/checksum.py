"""CRC-32C (Castagnoli) of record batches, by the package crc32c (RFC 3720 appendix B.4)."""

from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader, PathFinder
from importlib.util import module_from_spec, spec_from_file_location

Checksum = Callable[[bytes | memoryview], int]


def _load() -> Checksum:
    """Return the function of the package's extension, without the package around it.

    The package asks importlib.metadata for its own version: that imports email, zipfile and urllib, which
    takes longer than checking 500 MB.
    """
    package = PathFinder.find_spec("crc32c")
    places = None if package is None else package.submodule_search_locations
    found = PathFinder.find_spec("_crc32c", places) if places else None
    if found is not None and found.origin and isinstance(found.loader, ExtensionFileLoader):
        spec = spec_from_file_location("crc32c._crc32c", found.origin)
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            loaded: Checksum = module.crc32c
            return loaded
    from crc32c import crc32c as imported  # installed in some other way, or a build without an extension

    return imported


crc32c: Checksum = _load()
