"""What each alias looks like, what its arguments become, and how its results are reworded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ("ALIAS_TABLE", "Alias", "Arguments", "Reword")

READ_DEFAULT_LINES = 200
READ_MAX_LINES = 500
CODE_DEFAULT_RESULTS = 30
CODE_MAX_RESULTS = 100
FILES_DEFAULT_RESULTS = 50
FILES_MAX_RESULTS = 500
DEFAULT_TIMEOUT_MS = 30_000
MS_PER_SECOND = 1000
EVERY_FILE = "**/*"

Arguments = dict[str, Any]
Reword = Callable[[str, Mapping[str, Any]], str]
"""Takes a result's text and details, returns the text in the alias's words."""


@dataclass(frozen=True, kw_only=True)
class Alias:
    """A tool under another name."""

    description: str
    prompt_snippet: str
    parameters: Mapping[str, Any]
    translate: Callable[[Arguments], Arguments]
    reword: Reword | None = None
    has_cwd: bool = False
    """Whether its argument ``cwd`` says where the tool runs."""


def _in_notice(text: str, old: str, new: str) -> str:
    """Replace in the notice at the end only; what comes before it is content of files."""
    content, start, notice = text.rpartition("[")
    return content + start + notice.replace(old, new)


def _reword_read(text: str, details: Mapping[str, Any]) -> str:
    if not details.get("truncation", {}).get("firstLineExceedsLimit"):
        return text
    return text.replace("Use bash:", "Use execute_command:", 1)


def _reword_limit(text: str, limit: int | None, max_results: int) -> str:
    if limit is None:
        return text
    old = f"Use limit={2 * limit} for more, or refine pattern"
    if limit >= max_results:
        return _in_notice(text, old, "Refine pattern")
    more = min(2 * limit, max_results)
    return _in_notice(text, old, f"Use max_results={more} for more, or refine pattern")


def _reword_grep(text: str, details: Mapping[str, Any]) -> str:
    if details.get("linesTruncated"):
        text = _in_notice(text, "Use read tool to see", "Use read_file to see")
    return _reword_limit(text, details.get("matchLimitReached"), CODE_MAX_RESULTS)


def _reword_find(text: str, details: Mapping[str, Any]) -> str:
    return _reword_limit(text, details.get("resultLimitReached"), FILES_MAX_RESULTS)


def _read_arguments(given: Arguments) -> Arguments:
    return {
        "path": given.get("path"),
        "offset": given.get("offset", 1),
        "limit": given.get("limit", READ_DEFAULT_LINES),
    }


def _edit_arguments(given: Arguments) -> Arguments:
    pair = {"oldText": given.get("old_string"), "newText": given.get("new_string")}
    return {"path": given.get("path"), "edits": [pair]}


def _grep_arguments(given: Arguments) -> Arguments:
    arguments: Arguments = {
        "pattern": given.get("pattern"),
        "limit": given.get("max_results", CODE_DEFAULT_RESULTS),
    }
    # The glob for every file is left out: as a glob it would bring in files that are ignored.
    if given.get("glob", EVERY_FILE) != EVERY_FILE:
        arguments["glob"] = given["glob"]
    return arguments


def _find_arguments(given: Arguments) -> Arguments:
    return {
        "pattern": given.get("pattern"),
        "path": given.get("path", "."),
        "limit": given.get("max_results", FILES_DEFAULT_RESULTS),
    }


def _bash_arguments(given: Arguments) -> Arguments:
    timeout_ms: float = given.get("timeout_ms", DEFAULT_TIMEOUT_MS)
    return {"command": given.get("command"), "timeout": timeout_ms / MS_PER_SECOND}


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", **more, "description": description}


def _count(description: str, *, default: int, maximum: int | None = None) -> dict[str, Any]:
    limits = {"minimum": 1} if maximum is None else {"minimum": 1, "maximum": maximum}
    return {"type": "integer", **limits, "default": default, "description": description}


def _object(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_PATH = "Absolute or relative to the working directory"

ALIAS_TABLE: Mapping[str, Alias] = {
    "read_file": Alias(
        description=(
            f"Read lines of a file: {READ_DEFAULT_LINES} unless limit says otherwise, at most"
            f" {READ_MAX_LINES}. Go on with the offset that the notice names. An image comes back"
            " as a picture."
        ),
        prompt_snippet="Look at a file: text or image",
        parameters=_object(
            "path",
            path=_text(_PATH),
            offset=_count("First line to return, counted from 1", default=1),
            limit=_count(
                f"The most lines to return (default: {READ_DEFAULT_LINES})",
                default=READ_DEFAULT_LINES,
                maximum=READ_MAX_LINES,
            ),
        ),
        translate=_read_arguments,
        reword=_reword_read,
    ),
    "write_file": Alias(
        description=(
            "Write a whole file: create it, or overwrite what is there. Missing parent directories"
            " are created."
        ),
        prompt_snippet="Create or overwrite a file",
        parameters=_object(
            "path", "content", path=_text(_PATH), content=_text("The complete new content")
        ),
        translate=dict,
    ),
    "edit_file": Alias(
        description=(
            "Change a file by replacing one exact piece of its text, which must occur exactly once."
        ),
        prompt_snippet="Change a file by exact text replacement",
        parameters=_object(
            "path",
            "old_string",
            "new_string",
            path=_text(_PATH),
            old_string=_text("The exact text to replace", minLength=1),
            new_string=_text("What takes its place"),
        ),
        translate=_edit_arguments,
    ),
    "search_code": Alias(
        description=(
            "Search the contents of files for a regular expression. Gives the matching lines with"
            " path and line number. Respects .gitignore."
        ),
        prompt_snippet="Search file contents for patterns (respects .gitignore)",
        parameters=_object(
            "pattern",
            pattern=_text("Regular expression"),
            glob=_text(f"Which files to search (default: {EVERY_FILE})", default=EVERY_FILE),
            max_results=_count(
                f"The most matches to show (default: {CODE_DEFAULT_RESULTS})",
                default=CODE_DEFAULT_RESULTS,
                maximum=CODE_MAX_RESULTS,
            ),
        ),
        translate=_grep_arguments,
        reword=_reword_grep,
    ),
    "search_files": Alias(
        description=(
            "Find files and folders by glob. Gives one path a line, relative to the search"
            " directory. Respects .gitignore."
        ),
        prompt_snippet="Find files by glob (respects .gitignore)",
        parameters=_object(
            "pattern",
            pattern=_text("Glob relative to path; without / it matches names at any depth"),
            path=_text("Directory to search (default: the working directory)", default="."),
            max_results=_count(
                f"The most results to show (default: {FILES_DEFAULT_RESULTS})",
                default=FILES_DEFAULT_RESULTS,
                maximum=FILES_MAX_RESULTS,
            ),
        ),
        translate=_find_arguments,
        reword=_reword_find,
    ),
    "execute_command": Alias(
        description=(
            "Run one bash command. stdout and stderr come back together, cut to the last 2000 lines"
            " or 50KB; when cut, a temporary file has all of it. Nothing is kept between calls."
        ),
        prompt_snippet="Run shell commands",
        parameters=_object(
            "command",
            command=_text("The command to run"),
            cwd=_text("Where to run it (default: the working directory)"),
            timeout_ms=_count(
                f"Milliseconds after which the command is killed (default: {DEFAULT_TIMEOUT_MS})",
                default=DEFAULT_TIMEOUT_MS,
            ),
        ),
        translate=_bash_arguments,
        has_cwd=True,
    ),
}
"""The tools under their other names. They are ``direct``, like the tools they stand for.

Who asks for an alias has a model that expects it from its first message on.
"""
