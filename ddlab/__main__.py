"""`python -m ddlab`: the command line."""

import sys

from .commands import main

if __name__ == "__main__":  # worker processes import this module too
    sys.exit(main())
