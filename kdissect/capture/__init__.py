"""Captures in: pcap and pcapng from files, directories, rotated sets and streams. The only packet I/O.

`open_captures` in `kdissect.capture.files` is the entrance; `writer` writes captures. Parsers are fed bytes
and return packets, so the same code serves files, compressed files, pipes and tests.
"""
