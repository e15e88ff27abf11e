"""Reads the HTML of cards as strictly as a notebook that is not trusted, and makes outcomes."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from pi_kernel.protocol.results import ToolResult
from pi_kernel.registry.decorator import define_tool
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.render.call import call_bundle
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.sessions.session import ToolSession

TAGS = {
    "b": set(),
    "br": set(),
    "details": {"open", "style"},
    "div": set(),
    "i": set(),
    "img": {"alt", "src", "style"},
    "pre": set(),
    "span": set(),
    "summary": set(),
    "table": set(),
    "tbody": set(),
    "td": set(),
    "th": set(),
    "thead": set(),
    "tr": set(),
}
VOID = {"br", "img"}
NUMBER = r"\d+(?:\.\d+)?"
LENGTH = rf"(?:0|-?{NUMBER}(?:px|%))"
COLOUR = rf"(?:transparent|rgba\(\d+,\d+,\d+,{NUMBER}\))"
BORDER = rf"(?:0|1px solid {COLOUR})"
# As JupyterLab 4.6 keeps them; its own patterns allow more.
STYLES = {
    "background": COLOUR,
    "border": BORDER,
    "border-bottom": BORDER,
    "border-collapse": "collapse",
    "border-radius": r"\dpx",
    "border-top": BORDER,
    "cursor": "pointer",
    "display": "block|inline-block",
    "font-family": "Menlo,Consolas,'DejaVu Sans Mono',monospace",
    "font-size": r"\d+px|0",
    "font-weight": "bold|normal",
    "height": LENGTH,
    "line-height": r"\d+px",
    "margin": rf"{LENGTH}(?: {LENGTH}){{0,3}}",
    "margin-left": LENGTH,
    "margin-right": LENGTH,
    "max-height": LENGTH,
    "max-width": LENGTH,
    "min-width": LENGTH,
    "opacity": r"0\.\d+",
    "overflow": "auto",
    "overflow-wrap": "break-word",
    "padding": rf"{LENGTH}(?: {LENGTH}){{0,3}}",
    "table-layout": "auto",
    "text-align": "left|right",
    "text-decoration": "underline",
    "vertical-align": "middle|top",
    "white-space": "pre|pre-wrap|nowrap|normal",
    "width": LENGTH,
}
SOURCE = re.compile(r"data:image/(?:png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/]+={0,2}")


class Reader(HTMLParser):
    """Collects the text and stops at anything that a notebook would drop."""

    def __init__(self, *, in_pre: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.tags: list[str] = []
        self._in_pre = in_pre
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, f"tag {tag}"
        for name, value in attrs:
            assert name in (TAGS[tag] or {"style"}), f"{tag} has the attribute {name}"
            if name == "style":
                check_style(value or "")
            if name == "src":
                assert SOURCE.fullmatch(value or ""), "src is no picture"
        self.tags.append(tag)
        if tag == "br":
            self.parts.append("\n")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> without a beginning"
        assert self._open.pop() == tag, f"</{tag}> ends another tag"

    def handle_data(self, data: str) -> None:
        if not self._in_pre and "pre" not in self._open and {"$", "\\"} & set(data):
            assert len(data) == 1, f"may begin a formula: {data!r}"
        self.parts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"comment {data!r}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"declaration {decl!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"declaration {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"instruction {data!r}")

    def finished(self) -> str:
        self.close()
        assert not self._open, f"open at the end: {self._open}"
        return "".join(self.parts)


def check_style(style: str) -> None:
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        assert name in STYLES, f"style {name}"
        assert re.fullmatch(STYLES[name], value), f"style {name}: {value!r}"


def text_in(html: str, *, in_pre: bool = False) -> str:
    """Return the text that a person sees, after checking every tag, attribute and style.

    What is not preformatted, and not to stand in preformatted text, must hold no formulas.
    """
    html.encode()  # a lone surrogate cannot be sent
    reader = Reader(in_pre=in_pre)
    reader.feed(html)
    return reader.finished()


def tags_in(html: str) -> list[str]:
    """Return the tags in order."""
    reader = Reader()
    reader.feed(html)
    reader.finished()
    return reader.tags


def tool_of(name: str, result: Any, **fields: Any) -> ToolDefinition:
    """Return a tool that gives the result, or raises it."""

    async def execute(*_: Any) -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    parameters = fields.pop("parameters", {"type": "object"})
    return define_tool(
        name=name,
        description=fields.pop("description", "A tool."),
        parameters=parameters,
        execute=execute,
        **fields,
    )


def outcome_of(name: str, args: dict[str, Any], result: Any, **fields: Any) -> ToolOutcome:
    """Return the outcome of a call of such a tool, made by a person."""
    session = ToolSession(tools=[tool_of(name, result, **fields)])
    return session.run(session.execute_tool(name, args))


def shell_outcome(text: str, command: str = "make", **fields: Any) -> ToolOutcome:
    """Return the outcome of a command that wrote the text."""
    return outcome_of("bash", {"command": command}, ToolResult(text, **fields))


def forget_time(html: str) -> str:
    """Return the HTML with ``TIME`` in place of how long the call took."""
    return re.sub(
        r"(?:&lt; 1 ms|\d+ ms|\d+\.\d s)(?=</span></summary>|</span></div>)", "TIME", html
    )


def html_of(outcome: ToolOutcome) -> str:
    """Return the card."""
    return call_bundle(outcome)["text/html"]


def seen(outcome: ToolOutcome) -> str:
    """Return the text of the card, with ``TIME`` in place of how long the call took."""
    return text_in(forget_time(html_of(outcome)))


def call_in(folder: Path, name: str, args: dict[str, Any]) -> ToolOutcome:
    """Return the outcome of a built-in tool in a folder."""
    session = ToolSession(cwd=folder)
    return session.run(session.execute_tool(name, args))
