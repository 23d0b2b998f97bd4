"""Live capture: packets of interfaces, or of a pipe, as captures that grow while they are read.

`open_live` in `kdissect.capture.live.captures` is the entrance.

Rules:
- Somebody else holds the privilege and reads the packets: dumpcap, tcpdump, a process of our own with libpcap
  or scapy (`capture_child`), or whoever writes our standard input. All of them give a stream of bytes.
- A thread (`recorder`) takes that stream and does nothing but write it: to the files of `-w`, or to a bounded
  spool. Analysis reads behind it, and may lag.
- What is written is what is analysed: with `-w` the analysis reads the very file, through the parsers that
  every capture goes through, so that a live run and a later reading of its file cannot disagree.
"""
