"""What keeps metrics from being served."""


class MetricsError(Exception):
    """No library, no such address, a port in use; the text is the one line to show."""
