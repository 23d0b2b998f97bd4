"""What is wrong with a configuration file, and where."""


class ConfigError(Exception):
    """A file that cannot be used. `line` is 1-based; 0 where the place is not known."""

    def __init__(self, path: str, line: int, why: str) -> None:
        super().__init__(f"{path}:{line}: {why}" if line else f"{path}: {why}")
        self.path = path
        self.line = line
        self.why = why
