"""`python -m kdissect`."""

import sys

from kdissect.cli import main

if __name__ == "__main__":
    sys.exit(main())
