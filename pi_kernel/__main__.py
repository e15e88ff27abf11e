"""``python -m pi_kernel``: the command line; ``python -m pi_kernel kernel -f FILE``: the kernel."""

from __future__ import annotations

import sys

from pi_kernel.cli import main


def run() -> int:
    """Start what the first argument names."""
    if sys.argv[1:2] != ["kernel"]:
        return main()
    from ipykernel.kernelapp import IPKernelApp  # noqa: PLC0415 - loads on first use

    # "extra": the extensions that the person's own configuration lists are loaded too.
    arguments = [*sys.argv[2:], "--IPKernelApp.extra_extensions=pi_kernel"]
    IPKernelApp.launch_instance(argv=arguments)
    return 0


if __name__ == "__main__":
    sys.exit(run())
