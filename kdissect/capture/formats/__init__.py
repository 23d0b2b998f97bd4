"""Formats of capture files: pcap and pcapng, read and written, and which of them a file is."""
