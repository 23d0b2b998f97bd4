"""Collects what does not fit, as much as anybody reads."""

from kdissect.model.record_batch import RecordFault

# A batch of 128 MiB could have 18 million records that do not fit. People look at the first few.
MAX_FAULTS = 100


def note(faults: list[RecordFault], fault: RecordFault) -> None:
    """Add a fault while there is room."""
    if len(faults) < MAX_FAULTS:
        faults.append(fault)
