"""The public surface: which names there are, that imports stay light, that the README is true."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pi_kernel

ROOT = Path(__file__).parent.parent

PUBLIC_NAMES = (
    "AbortSignal",
    "AgentTool",
    "Block",
    "ImageContent",
    "ModelInfo",
    "PiKernelError",
    "ResultPatch",
    "TextContent",
    "ToolAborted",
    "ToolAnnotations",
    "ToolCall",
    "ToolCallError",
    "ToolContext",
    "ToolDefinition",
    "ToolNamespace",
    "ToolOutcome",
    "ToolResult",
    "ToolSession",
    "ToolTimeout",
    "Usage",
    "create_all_tools",
    "create_coding_tools",
    "create_read_only_tools",
    "create_tool_definition_from_agent_tool",
    "define_tool",
    "load_ipython_extension",
    "tool",
    "unload_ipython_extension",
    "with_file_mutation_queue",
    "wrap_tool_definition",
)

HEAVY_MODULES = (
    "IPython",
    "PIL",
    "anywidget",
    "ipykernel",
    "ipywidgets",
    "jsonschema_rs",
    "matplotlib",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "traitlets",
)


def public_modules() -> list[str]:
    """Every module of the package whose path has no part of our own (`_name`, `__main__`)."""
    walked = pkgutil.walk_packages(pi_kernel.__path__, "pi_kernel.")
    names = ["pi_kernel", *(found.name for found in walked)]
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def run_python(code: str, *, folder: Path) -> tuple[str, str]:
    """Run code in a fresh interpreter that finds this package; return its output and errors."""
    run = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    return run.stdout, run.stderr


def heavy_modules_after(statement: str) -> list[str]:
    """Return the heavy modules that a statement loads."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    output, errors = run_python(code, folder=ROOT)
    assert errors == ""
    loaded = json.loads(output)
    return [name for name in HEAVY_MODULES if name in loaded]


def readme_block(language: str, *, after: str) -> str:
    """Return the first fenced block of a language below a line of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition(after)[2]
    match = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_name_can_be_imported_from_the_package(name: str) -> None:
    assert getattr(pi_kernel, name) is not None
    assert name in pi_kernel.__all__


def test_dir_of_the_package_lists_every_public_name() -> None:
    assert set(PUBLIC_NAMES) <= set(dir(pi_kernel))


def test_unknown_name_of_the_package_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pi_kernel.no_such_name


@pytest.mark.parametrize("name", public_modules())
def test_all_is_a_tuple_of_what_the_module_defines(name: str) -> None:
    module = importlib.import_module(name)
    defined = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == name
    }
    exported = getattr(module, "__all__", ())

    # Its order is RUF022's: constants, classes, functions, each sorted.
    assert isinstance(exported, tuple)
    assert len(set(exported)) == len(exported)
    assert [key for key in exported if not hasattr(module, key)] == []
    assert sorted(defined - set(exported)) == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert heavy_modules_after("import pi_kernel") == []


def test_every_public_name_can_be_had_without_loading_anything_heavy() -> None:
    assert heavy_modules_after("from pi_kernel import *") == []


def test_readme_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    heading = "## A short example"
    output, errors = run_python(readme_block("python", after=heading), folder=tmp_path)
    assert (output, errors) == (readme_block("text", after=heading), "")


def test_changelog_keeps_a_place_for_unreleased_changes() -> None:
    headings = re.findall(
        r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert headings[0] == "Unreleased"


def test_extra_all_names_every_other_extra_for_users() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    others = sorted(set(extras) - {"all", "test"})
    assert extras["all"] == [f"pi-kernel[{','.join(others)}]"]
