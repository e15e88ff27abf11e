"""What a person finds out while typing, and what an error says."""

from __future__ import annotations

import pytest

from tests.support.kernels import Kernel

pytestmark = pytest.mark.kernel

SETUP = '''
from pi_kernel import define_tool, ToolResult

@ctx.tool
async def query(sql: str, limit: int = 100, mode: str | None = None) -> str:
    """Run a read-only query.

    Args:
        sql: One SELECT statement.
        limit: The most rows to return.
    """
    return sql

odd = define_tool(
    name="my-tool",
    description="A name that is no identifier.",
    parameters={"type": "object", "properties": {"class": {"type": "string"}, "a b": {}}},
    execute=lambda *a: ToolResult("x"),
)
ctx.session.register(odd)

@ctx.tool
def broken(n: int) -> int:
    "Raise."
    return 1 // n

@ctx.tool
async def outer() -> str:
    "Call a tool that fails."
    return await ctx.tools.broken(n=0)

async def reads():
    return await ctx.tools.read(path="missing.txt")
'''


@pytest.fixture(scope="module")
def ready(kernel: Kernel) -> Kernel:
    reply = kernel.run(SETUP)
    assert reply.status == "ok", reply.traceback
    return kernel


# -- completion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["ctx.tools.", "tools.", "await ctx.tools.", "x = await tools."])
def test_tools_complete_after_a_dot(ready: Kernel, prefix: str) -> None:
    found = ready.complete(prefix)
    assert {"bash", "read", "query", "my_tool"} <= set(found)
    assert not [name for name in found if name.startswith("_")]


def test_part_of_a_name_completes(ready: Kernel) -> None:
    assert ready.complete("ctx.tools.qu") == ["query"]
    assert "execute_tool" in ready.complete("ctx.ex")


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("ctx.tools.query(", ["limit=", "mode=", "sql="]),
        ("await ctx.tools.query(", ["limit=", "mode=", "sql="]),
        ("await tools.query(sql='x', ", ["limit=", "mode="]),
        ("await ctx.tools.query(li", ["limit="]),
        ("ctx.tools.bash(", ["command=", "timeout="]),
        ("ctx.tools.my_tool(", []),
    ],
)
def test_arguments_complete(ready: Kernel, code: str, arguments: list[str]) -> None:
    assert [name for name in ready.complete(code) if name.endswith("=")] == arguments


@pytest.mark.parametrize("prefix", ["ctx.tools['", "tools['", "await ctx.tools['"])
def test_raw_names_complete_in_brackets(ready: Kernel, prefix: str) -> None:
    found = [name.strip("'\"]") for name in ready.complete(prefix)]
    assert {"bash", "query", "my-tool"} <= set(found)


def test_magics_complete(ready: Kernel) -> None:
    assert "%trace" in ready.complete("%tra")


# -- help ------------------------------------------------------------------------------------------


def test_help_shows_signature_description_and_parameters_and_nothing_of_ours(
    ready: Kernel,
) -> None:
    text = ready.run("ctx.tools.query?").help
    lines = text.splitlines()
    assert lines[0].split() == [
        "Signature:", "ctx.tools.query(*,", "sql:", "str,", "limit:", "int", "=", "100,",
        "mode:", "str", "|", "None", "=", "None)",
    ]  # fmt: skip
    assert lines[1:] == [
        "Docstring:",
        "Run a read-only query.",
        "",
        "Args:",
        "    sql (str): One SELECT statement.",
        "    limit (int, default 100): The most rows to return.",
        "    mode (str | None, default None)",
        lines[-2],
        "Type:      function",
    ]
    assert lines[-2].startswith("File:")
    assert "pi_kernel" not in lines[-2]


def test_help_of_a_built_in_tool_says_where_it_is(ready: Kernel) -> None:
    text = ready.run("ctx.tools.read?").help
    assert "read(*, path: str, offset: float = ..., limit: float = ...)" in text
    assert "    offset (float, optional): " in text
    for noise in ("Call docstring", "Class docstring", "String form", "*args", "BoundTool"):
        assert noise not in text


def test_two_question_marks_show_the_source_of_a_tool_of_ones_own(ready: Kernel) -> None:
    text = ready.run("ctx.tools.query??").help
    assert "async def query(sql: str, limit: int = 100" in text


def test_names_that_python_cannot_take_are_in_the_text_only(ready: Kernel) -> None:
    text = ready.run("ctx.tools['my-tool']?").help + ready.run("ctx.tools.my_tool?").help
    assert "my_tool()" in text
    assert "    class (str, optional)" in text
    assert "    a b (Any, optional)" in text


def test_help_of_ctx_says_how_to_call(ready: Kernel) -> None:
    assert "await ctx.execute_tool" in ready.run("ctx?").help
    assert "name: The exact name" in ready.run("ctx.execute_tool?").help


def test_a_missing_tool_is_an_error_with_the_way_out(ready: Kernel) -> None:
    reply = ready.run("ctx.tools.Query")
    assert reply.error == (
        "AttributeError: tools.Query does not exist. Did you mean tools.query?"
        ' Check for a member with "Query" in tools.'
    )


# -- errors ----------------------------------------------------------------------------------------


def test_a_failed_call_shows_the_call_the_line_and_a_hint_only(ready: Kernel) -> None:
    n = ready.next_count()
    reply = ready.run("path = 'missing.txt'\nawait ctx.tools.read(path=path)")
    assert reply.error.startswith("ToolCallError: ENOENT: no such file or directory, access '/")
    first, *rest = reply.traceback.splitlines()
    assert first.startswith("ToolCallError: ENOENT: no such file or directory")
    assert rest == [
        f"  in the call cell-{n}/1 of read (error)",
        f"  cell [{n}], line 2: await ctx.tools.read(path=path)",
        "  Paths start at the working directory.",
    ]


def test_every_line_of_the_persons_own_is_shown(ready: Kernel) -> None:
    n = ready.next_count()
    lines = ready.run("import asyncio\nawait asyncio.gather(reads())").traceback.splitlines()
    assert lines[2] == f"  cell [{n}], line 2: await asyncio.gather(reads())"
    assert lines[3].endswith(': return await ctx.tools.read(path="missing.txt")')
    assert len(lines) == 5


def test_a_tool_that_raised_is_named_with_its_place(ready: Kernel) -> None:
    n = ready.next_count()
    lines = ready.run("await ctx.tools.broken(n=0)").traceback.splitlines()
    assert lines[0] == "ToolCallError: integer division or modulo by zero"
    assert lines[1] == f"  in the call cell-{n}/1 of broken (error)"
    assert lines[3].startswith("  In broken, cell [")
    assert lines[3].endswith("line 24.")


def test_the_error_of_a_nested_call_names_the_inner_call_when_it_is_passed_on(
    ready: Kernel,
) -> None:
    n = ready.next_count()
    reply = ready.run("await ctx.tools.outer()")
    assert reply.error == "ToolCallError: integer division or modulo by zero"
    assert reply.traceback.splitlines()[1] == f"  in the call cell-{n}/1 of outer (error)"


def test_wrong_arguments_say_what_is_wrong_and_where_help_is(ready: Kernel) -> None:
    lines = ready.run("await ctx.tools.query(limit='many')").traceback.splitlines()
    assert lines[0] == 'ToolCallError: Validation failed for tool "query":'
    assert lines[-1] == "  ctx.tools.query? shows the parameters."
    assert ready.run("await ctx.tools.query(1)").error == (
        "TypeError: tools.query() takes keyword arguments or one mapping, got int"
    )


def test_misuse_shows_the_message_and_the_line(ready: Kernel) -> None:
    n = ready.next_count()
    assert ready.run("x = 1\nctx.cell(9999)").traceback.splitlines() == [
        "PiKernelError: no cell [9999] has run since %load_ext pi_kernel",
        f"  cell [{n}], line 2: ctx.cell(9999)",
    ]


def test_an_outcome_shows_itself_as_a_card_and_as_one_line(ready: Kernel) -> None:
    (data,) = ready.run("await ctx.execute_tool('query', {'sql': 'select 1'})").displays
    assert set(data) == {"text/html", "text/plain"}
    assert data["text/plain"].startswith("ok  query  ")
    assert data["text/html"].startswith("<details")
    assert "select 1" in data["text/html"]


def test_an_outcome_shows_itself_without_the_extension_too(bare_kernel: Kernel) -> None:
    reply = bare_kernel.run(
        "from pi_kernel import ToolSession\n"
        "session = ToolSession()\n"
        "await session.execute_tool('bash', {'command': 'echo hi'})"
    )
    (data,) = reply.displays
    assert data["text/html"].startswith("<details")
    reply = bare_kernel.run("await session.tools.read(path='missing.txt')")
    assert [line.strip() for line in reply.traceback.splitlines()][1:] == [
        "in the call call-2 of read (error)",
        "the cell, line 1: await session.tools.read(path='missing.txt')",
        "Paths start at the working directory.",
    ]
