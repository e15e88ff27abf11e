"""``python -m pi_kernel``: the command line."""

from __future__ import annotations

import sys

from pi_kernel.cli import main

if __name__ == "__main__":
    sys.exit(main())
