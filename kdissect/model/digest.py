"""`blake2b` of hashlib, without the library of TLS, which takes 4 ms to load and 3.4 MB from then on."""

try:
    from _blake2 import blake2b
except ImportError:  # a Python built otherwise
    from hashlib import blake2b

__all__ = ["blake2b"]
