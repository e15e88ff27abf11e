"""The main job in a terminal: every way to call a tool, on the files of a folder.

`scenario` runs the job and returns data, `report` makes lines of it; nothing in either is
invented: another folder gives other values.
"""

from __future__ import annotations

from pi_kernel.demo.report import report_lines
from pi_kernel.demo.scenario import DEMO_DATA, DemoRun, run_demo

__all__ = ("DEMO_DATA", "DemoRun", "report_lines", "run_demo")
