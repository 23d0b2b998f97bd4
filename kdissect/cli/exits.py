"""Exit codes of the command line."""

OK = 0
FINDINGS = 1  # `check` found something at or above the threshold
USAGE = 2
UNREADABLE = (
    3  # some input could not be read, or the output not be written; everything else was printed first
)
NOTHING = (
    4  # `check` and `upgrade`: nothing to judge, or clients unread: such a capture must not be green for ever
)
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
