"""Giving up root, once a capture is open."""

import os
import sys

from kdissect.capture.live.live_settings import LiveError

if sys.platform != "win32":
    import pwd


def drop_to(user: str) -> None:
    """Go on as another user, with the groups of that user and no way back. Raises LiveError."""
    number, group = ids_of(user)
    try:
        os.initgroups(user, group)
        os.setgid(group)
        os.setuid(number)
    except OSError as error:
        raise LiveError(f"cannot go on as user {user}: {error.strerror}") from None


def ids_of(user: str) -> tuple[int, int]:
    """Return the numbers of a user and of its group. Raises LiveError."""
    if sys.platform == "win32":
        raise LiveError("a process cannot change its user on Windows")
    try:
        found = pwd.getpwnam(user)
    except KeyError:
        raise LiveError(f"there is no user {user}") from None
    return found.pw_uid, found.pw_gid
