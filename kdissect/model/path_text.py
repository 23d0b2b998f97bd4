"""Names of files as text: to the system they are bytes, which need not be UTF-8."""


def path_text(path: str) -> str:
    """A path as text that every format can hold: what is no UTF-8 stands as `\\xff`."""
    return (
        path
        if path.isascii()
        else path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    )
