"""The same work in a process without the compiled hot path, which says what is right."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from kdissect.model.native import native

ROOT = Path(__file__).parent.parent.parent


class PythonSide:
    """Calls functions of test modules in a process of their own, where everything is done in Python."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.python_side"],
            cwd=ROOT,
            env=os.environ | {"KDISSECT_NATIVE": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function gives there; what it raises fails the test."""
        send, receive = self._process.stdin, self._process.stdout
        assert send is not None
        assert receive is not None
        pickle.dump((function, arguments), send)
        send.flush()
        return pickle.load(receive)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer calls until there are no more."""
    assert native is None
    while True:
        try:
            function, arguments = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(function(*arguments), answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
