"""Live capture: packets of interfaces, or of a pipe, as captures that grow while they are read.

`open_live` in `kdissect.capture.live.captures` is the entrance.

Rules:
- Another process holds the privilege and reads the packets: dumpcap, tcpdump, a process of our own with
  libpcap or scapy (`capture_child`), or the writer of our standard input. All of them produce a stream of
  bytes.
- A thread (`recorder`) takes that stream and only writes it: to the files of `-w`, or to a bounded spool.
  Analysis reads after it, and may lag.
- The analysis reads the written bytes: with `-w` it reads the very file, through the parsers that every
  capture goes through, so that a live run and a later reading of its file cannot disagree.
"""
