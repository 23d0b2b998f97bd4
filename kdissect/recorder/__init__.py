"""The flight recorder: a ring of packets on disk, an analysis next to it, and incidents (docs/record.md).

The capture writes the ring (`capture.live.ring`). A watch analyses what the ring receives. If a condition
holds, the packets before and after become an incident, a folder with the reports of `why` and `check`.
"""
