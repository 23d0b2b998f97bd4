"""Exit codes of the command line."""

OK = 0
USAGE = 2
UNREADABLE = (
    3  # some input could not be read, or the output not be written; everything else was printed first
)
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
