"""Functions as tools: what the schema says, what arrives, what comes back."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime as dt
import enum
import functools
import inspect
import pickle
import sys
import threading
import types
import typing
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import anyio
import hypothesis
import pytest
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, StringConstraints
from typing_extensions import TypedDict

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.results import ABSENT, ToolResult, text_of
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.context import ToolContext
from pi_kernel.registry.decorator import FunctionTool, define_tool, tool
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.runtime.validation import ArgumentsInvalid

if typing.TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers


async def run(definition: ToolDefinition, /, ctx: Any = None, **params: Any) -> ToolResult:
    """Run a definition as the pipeline does after schema validation."""
    if definition.check_arguments is not None:
        definition.check_arguments(params)
    result = definition.execute("call_1", params, None, None, ctx)
    assert inspect.isawaitable(result)
    done = await result
    assert isinstance(done, ToolResult)
    return done


async def value_of(definition: ToolDefinition, /, ctx: Any = None, **params: Any) -> Any:
    return (await run(definition, ctx, **params)).value


def properties(function: Any) -> Any:
    return tool(function).parameters["properties"]


def refusal(function: Any, /, **options: Any) -> str:
    with pytest.raises(PiKernelError) as caught:
        tool(function, **options)
    return str(caught.value)


# -- the definition --------------------------------------------------------------------------------


def test_definition_comes_from_name_hints_and_docstring() -> None:
    @tool
    async def query(sql: str, limit: int = 100) -> list[dict[str, Any]]:
        """Run a read-only SQL query
        against the warehouse.

        The connection is shared.

        Args:
            sql: one SELECT statement.
            limit: the most rows
                to return.
        """
        return [{"sql": sql, "limit": limit}]

    assert query.name == "query"
    assert query.description == "Run a read-only SQL query against the warehouse."
    assert query.parameters == {
        "type": "object",
        "properties": {
            "sql": {"type": "string", "description": "one SELECT statement."},
            "limit": {
                "type": "integer",
                "default": 100,
                "description": "the most rows to return.",
            },
        },
        "required": ["sql"],
        "additionalProperties": False,
    }
    assert query.output_schema == {
        "type": "array",
        "items": {"type": "object", "additionalProperties": True},
    }
    assert (query.exposure, query.label, query.is_async) == ("direct", "query", True)


def test_options_replace_what_the_function_says() -> None:
    @tool(
        name="find_rows",
        description="Find rows.",
        exposure="codemode",
        annotations=ToolAnnotations(read_only_hint=True),
        max_result_chars=5,
        output_schema={"type": "string"},
        execution_mode="sequential",
    )
    def find() -> int:
        """Not this."""
        return 1

    assert isinstance(find, ToolDefinition)
    assert find.name == "find_rows"
    assert find.description == "Find rows."
    assert find.exposure == "codemode"
    assert find.annotations == ToolAnnotations(read_only_hint=True)
    assert find.max_result_chars == 5
    assert find.output_schema == {"type": "string"}
    assert find.execution_mode == "sequential"


def test_tool_can_be_called_with_a_function_and_options() -> None:
    def double(x: int) -> int:
        return 2 * x

    assert tool(double, name="twice").name == "twice"
    assert tool(name="thrice")(double).name == "thrice"


def test_definition_stays_callable_and_looks_like_the_function() -> None:
    def double(x: int, *, by: int = 2) -> int:
        """Multiply."""
        return x * by

    definition = tool(double)

    assert definition(3) == 6
    assert definition(3, by=3) == 9
    assert vars(definition)["__name__"] == "double"
    assert definition.__doc__ == "Multiply."
    assert definition.__module__ == __name__
    assert vars(definition)["__qualname__"] == double.__qualname__
    assert vars(definition)["__wrapped__"] is double
    assert definition.function is double
    assert inspect.signature(definition) == inspect.signature(double)
    assert inspect.getsource(definition) == inspect.getsource(double)


async def test_async_definition_called_directly_gives_the_functions_value() -> None:
    @tool
    async def double(x: int) -> int:
        return 2 * x

    assert await double(4) == 8


def test_tool_of_a_definition_is_the_same_function_with_other_options() -> None:
    @tool(description="First.", exposure="hidden")
    def first(x: int = 1) -> int:
        return x

    second = tool(first, name="second")

    assert (second.name, second.description, second.exposure) == ("second", "First.", "hidden")
    assert second.function is first.function
    assert second(5) == 5


async def test_replaced_definition_still_runs_and_is_callable() -> None:
    @tool
    async def add(a: int, b: int) -> int:
        return a + b

    copy = dataclasses.replace(add, exposure="deferred")

    assert isinstance(copy, FunctionTool)
    assert await copy(1, 2) == 3
    assert await value_of(copy, a=2, b=3) == 5


def test_unknown_option_is_refused_with_the_closest_name() -> None:
    def f() -> None: ...

    assert refusal(f, expose="x") == "Tool \"f\" has no option 'expose'; did you mean exposure?"
    with pytest.raises(PiKernelError) as caught:
        tool(zzz=1)
    assert str(caught.value).startswith("tool() has no option 'zzz'; there are name, description, ")


@pytest.mark.parametrize("option", ["parameters", "execute", "function", "plain"])
def test_option_that_the_function_gives_is_refused(option: str) -> None:
    def f() -> None: ...

    assert refusal(f, **{option: None}) == (
        f'Tool "f": {option} comes from the function; define_tool() takes it as it is'
    )


def test_wrong_value_of_an_option_is_refused() -> None:
    def f() -> None: ...

    assert "exposure must be one of" in refusal(f, exposure="everywhere")


def test_function_without_a_usable_name_needs_one() -> None:
    assert "has no name that a tool could have; give name=..." in refusal(lambda: 1)
    assert tool(lambda: 1, name="one").name == "one"


def test_what_is_no_function_is_refused() -> None:
    assert refusal("query") == "tool() takes a function, got str"


def test_function_that_yields_is_refused() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    async def later() -> AsyncIterator[int]:
        yield 1

    assert refusal(numbers) == 'Tool "numbers": the function yields; return a list instead'
    assert refusal(later) == 'Tool "later": the function yields; return a list instead'


# -- the schema of parameters ----------------------------------------------------------------------


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


class Period(BaseModel):
    start: dt.datetime
    at: dt.time


class Order(BaseModel):
    """An order."""

    order_id: int = Field(alias="orderId", description="the number", ge=1)
    placed: dt.datetime
    sizes: list[Size] = []
    title: str = "x"


class Place(TypedDict, total=False):
    lat: float


def test_json_types_become_their_schemas_without_titles() -> None:
    def f(  # type: ignore[no-untyped-def]  # noqa: PLR0913 - one a type
        *,
        text: str,
        number: float,
        flag: bool,
        anything: Any,
        names: list[str],
        by_name: dict[str, int],
        maybe: int | None,
        older: Optional[str],  # noqa: UP045 - people write it
        either: int | str,
        choice: Literal["a", "b"],
        untyped,  # noqa: ANN001 - on purpose
    ) -> None:
        del text, number, flag, anything, names, by_name, maybe, older, either, choice, untyped

    assert properties(f) == {
        "text": {"type": "string"},
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
        "anything": {},
        "names": {"type": "array", "items": {"type": "string"}},
        "by_name": {"type": "object", "additionalProperties": {"type": "integer"}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "older": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "choice": {"type": "string", "enum": ["a", "b"]},
        "untyped": {},
    }
    assert tool(f).parameters["required"] == list(tool(f).parameters["properties"])


def test_classes_become_definitions_without_class_titles() -> None:
    def f(  # noqa: PLR0913 - one a type
        *, order: Order, colour: Colour, level: Level, place: Place, path: Path, at: dt.time
    ) -> None:
        """F.

        Args:
            order: what to ship
        """

    parameters = tool(f).parameters
    assert parameters["properties"] == {
        "order": {"$ref": "#/$defs/Order", "description": "what to ship"},
        "colour": {"$ref": "#/$defs/Colour"},
        "level": {"$ref": "#/$defs/Level"},
        "place": {"$ref": "#/$defs/Place"},
        "path": {"type": "string", "format": "path"},
        "at": {"type": "string", "examples": ["09:30:00"]},
    }
    assert parameters["$defs"] == {
        "Colour": {"type": "string", "enum": ["red", "blue"], "description": "A colour."},
        "Level": {"type": "integer", "enum": [1, 2]},
        "Order": {
            "type": "object",
            "description": "An order.",
            "properties": {
                "orderId": {"type": "integer", "minimum": 1, "description": "the number"},
                "placed": {"type": "string", "examples": ["2026-05-01T09:30:00"]},
                "sizes": {"type": "array", "items": {"$ref": "#/$defs/Size"}, "default": []},
                "title": {"type": "string", "default": "x"},
            },
            "required": ["orderId", "placed"],
        },
        "Place": {"type": "object", "properties": {"lat": {"type": "number"}}},
        "Size": {
            "type": "object",
            "properties": {
                "width": {"type": "integer"},
                "height": {"type": "integer", "default": 1},
            },
            "required": ["width"],
        },
    }


def test_annotated_fields_give_constraints_titles_and_descriptions() -> None:
    def f(
        a: Annotated[int, Field(ge=1, description="own words")],
        b: Annotated[str, "in the annotation"],
        c: Annotated[str, StringConstraints(max_length=3)],
        d: int = Field(5, le=9, title="The D"),
        e: Annotated[list[int], Field(default_factory=list)] = Field(min_length=1),  # noqa: B008
    ) -> None:
        """F.

        Args:
            a: not these
            b: not these either
            c: from the docstring
        """
        del a, b, c, d, e

    assert properties(f) == {
        "a": {"type": "integer", "minimum": 1, "description": "own words"},
        "b": {"type": "string", "description": "in the annotation"},
        "c": {"type": "string", "maxLength": 3, "description": "from the docstring"},
        "d": {"type": "integer", "maximum": 9, "default": 5, "title": "The D"},
        "e": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
    }
    assert tool(f).parameters["required"] == ["a", "b", "c"]


def test_defaults_are_shown_where_json_has_them() -> None:
    nothing = object()

    def f(
        a: Colour = Colour.RED,
        b: Path = Path("/x"),
        c: Size = Size(2),  # noqa: B008
        d: Any = nothing,
        e: float = float("inf"),
    ) -> None:
        del a, b, c, d, e

    shown = {name: schema.get("default", "not shown") for name, schema in properties(f).items()}
    assert shown["a"] == "red"
    assert shown["b"] == "/x"
    assert shown["c"] == {"width": 2, "height": 1}
    assert shown["d"] == "not shown"
    assert "required" not in tool(f).parameters


def test_parameters_may_have_any_name() -> None:
    def f(schema: int, _hidden: int, model_config: int, p0: int, copy: int = 1) -> None:
        del schema, _hidden, model_config, p0, copy

    assert list(properties(f)) == ["schema", "_hidden", "model_config", "p0", "copy"]


async def test_keyword_arguments_are_checked_and_do_not_open_the_classes_inside() -> None:
    @tool
    async def f(place: Place, **rest: Colour) -> list[Any]:
        return [place, rest]

    assert f.parameters["additionalProperties"] == {"$ref": "#/$defs/Colour"}
    assert "additionalProperties" not in f.parameters["$defs"]["Place"]
    assert await value_of(f, place={"lat": 1, "more": 2}, x="red", **{"**": "blue"}) == [
        {"lat": 1.0},
        {"x": Colour.RED, "**": Colour.BLUE},
    ]
    with pytest.raises(ArgumentsInvalid, match=r"  - x: Input should be 'red' or 'blue'\n\n"):
        await run(f, place={}, x="green")


def test_keyword_arguments_open_the_schema() -> None:
    def untyped(a: int, **rest: Any) -> None: ...

    def typed(**rest: int) -> None: ...

    assert tool(untyped).parameters["additionalProperties"] is True
    assert tool(typed).parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": {"type": "integer"},
    }


def test_positional_list_of_arguments_is_refused() -> None:
    def f(*names: str) -> None: ...

    assert refusal(f) == (
        'Tool "f": *names has no name in a JSON object; take a list instead, as in names: list[str]'
    )


def test_annotation_without_json_form_is_refused_by_name() -> None:
    class Opaque: ...

    def f(a: int, b: Opaque) -> None: ...

    def g(a: threading.Lock) -> None: ...

    def h(**rest: Opaque) -> None: ...

    assert refusal(f) == (
        'Tool "f": parameter "b" cannot be given as JSON: Unable to generate pydantic-core schema'
        f" for {Opaque!r}"
    )
    assert refusal(g).startswith('Tool "g": parameter "a" cannot be given as JSON: ')
    assert refusal(h).startswith('Tool "h": parameter "**" cannot be given as JSON: ')


def test_annotation_that_cannot_be_resolved_is_refused_by_name() -> None:
    def f(a: int, b: OnlyForCheckers) -> None: ...

    assert refusal(f) == (
        'Tool "f": the annotation \'OnlyForCheckers\' of parameter "b" cannot be resolved:'
        " name 'OnlyForCheckers' is not defined"
    )


def test_classes_of_the_defining_function_are_found() -> None:
    class Local(BaseModel):
        x: int

    def f(local: Local, many: list[Local]) -> Local:
        return many[0] if many else local

    assert tool(f).parameters["properties"]["local"] == {"$ref": "#/$defs/Local"}
    assert tool(f).output_schema == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }


async def test_function_that_calls_itself_can_be_a_local_tool() -> None:
    @tool
    async def total(values: list[int]) -> int:
        return values[0] + await total(values[1:]) if values else 0

    assert await value_of(total, values=[1, 2, 3]) == 6


async def test_wrapped_function_keeps_its_hints() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return ["logged", await function(*args, **kwargs)]

        return call

    @tool
    @logged
    async def f(day: dt.date) -> dt.date:
        """Say it."""
        return day

    assert f.description == "Say it."
    assert f.parameters["required"] == ["day"]
    assert await value_of(f, day="2026-05-01") == ["logged", dt.date(2026, 5, 1)]


async def test_class_can_be_a_tool_that_makes_objects() -> None:
    size = tool(Size)

    assert size.name == "Size"
    assert size.parameters["required"] == ["width"]
    assert await value_of(size, width=2) == Size(2)


def test_function_without_a_signature_is_refused() -> None:
    assert refusal(min) == (
        'Tool "min": the parameters of <built-in function min> cannot be read:'
        " no signature found for builtin <built-in function min>"
    )


async def test_builtin_function_with_a_signature_is_a_tool() -> None:
    assert await value_of(tool(len), obj=[1, 2]) == 2


# -- docstrings ------------------------------------------------------------------------------------


def described_by(docstring: str | None) -> tuple[str, dict[str, str | None]]:
    def f(alpha: int = 0, beta: int = 0, **rest: Any) -> None: ...

    f.__doc__ = docstring
    definition = tool(f)
    shown = {
        name: schema.get("description")
        for name, schema in definition.parameters["properties"].items()
    }
    return definition.description, shown


@pytest.mark.parametrize(
    ("docstring", "description", "alpha", "beta"),
    [
        (None, "", None, None),
        ("   ", "", None, None),
        ("Just this.", "Just this.", None, None),
        ("\n    Args:\n        alpha: only arguments\n    ", "", "only arguments", None),
        (
            """Two
            lines.

            More.

            Args:
                alpha (int, optional): the first
                    in two lines:
                    and a third
                beta (Callable[[int], str]): the (second): one
                **rest: others

            Returns:
                beta: not this
            """,
            "Two lines.",
            "the first in two lines: and a third",
            "the (second): one",
        ),
        ("Do.\n\nParameters:\n  alpha, beta: both", "Do.", "both", "both"),
        ("Do.\nArgs:\n    alpha: no blank line", "Do.", "no blank line", None),
        (
            """Do.

            Parameters
            ----------
            alpha : int, optional
                The first,
                in two lines.
            beta
                The second.

            Returns
            -------
            alpha
                not this
            """,
            "Do.",
            "The first, in two lines.",
            "The second.",
        ),
        (
            """Do.

            :param int alpha: the first,
                in two lines
            :param beta: the second
            :type beta: int
            :returns: nothing
            """,
            "Do.",
            "the first, in two lines",
            "the second",
        ),
        ("Do.\n:param alpha: at once", "Do.", "at once", None),
        ("Do.\n:param: nobody\n:param alpha: the first\n\n    apart", "Do.", "the first", None),
        ("Do.\n\nArgs:\n    (none yet)\n    alpha: the first", "Do.", "the first", None),
        (
            "Do.\n\nParameters\n----------\n    lost\nalpha : int\n    The first.\n(that is all)",
            "Do.",
            "The first.",
            None,
        ),
        ("Parameters\n----------\nalpha\n    The first.", "", "The first.", None),
        ("Note: a colon.\n\nArgs are none.", "Note: a colon.", None, None),
        ("Do.\n\nArgs:\n    gamma: no such parameter\n    beta:", "Do.", None, None),
    ],
)
def test_docstring_gives_description_and_parameters(
    docstring: str | None, description: str, alpha: str | None, beta: str | None
) -> None:
    assert described_by(docstring) == (description, {"alpha": alpha, "beta": beta})


@hypothesis.given(st.text(alphabet=st.sampled_from("ab A:-,()*\n \t.") | st.characters()))
def test_any_docstring_can_be_read(docstring: str) -> None:
    described_by(docstring)


# -- the schema of results -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        (int, {"type": "integer"}),
        (bool, {"type": "boolean"}),
        (float | None, {"anyOf": [{"type": "number"}, {"type": "null"}]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Place, {"type": "object", "properties": {"lat": {"type": "number"}}}),
        (
            Size,
            {
                "type": "object",
                "properties": {
                    "width": {"type": "integer"},
                    "height": {"type": "integer", "default": 1},
                },
                "required": ["width"],
            },
        ),
        (
            Period,
            {
                "type": "object",
                "properties": {
                    "start": {"type": "string", "format": "date-time"},
                    "at": {"type": "string", "format": "time"},
                },
                "required": ["start", "at"],
            },
        ),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Annotated[int, "text"], {"type": "integer"}),
        (str, None),
        (None, None),
        (Any, None),
        (str | int, None),
        (Literal["a"], None),
        (Colour, None),
        (Path, None),
        (dt.datetime, None),
        (ToolResult, None),
        (object, None),
        (list[threading.Thread], None),
        ("NotDefinedAnywhere", None),
    ],
)
def test_return_annotation_gives_the_output_schema(returns: Any, expected: Any) -> None:
    def f() -> None: ...

    f.__annotations__["return"] = returns
    assert tool(f).output_schema == expected


def test_scripts_get_structured_content_unless_a_text_is_promised() -> None:
    def text() -> str: ...  # type: ignore[empty-body]

    def nothing() -> None: ...

    def unsaid(): ...  # type: ignore[no-untyped-def] # noqa: ANN202

    assert [tool(f).returns_json for f in (text, nothing, unsaid)] == [False, False, True]
    assert tool(text, returns_json=True).returns_json is True


# -- running ---------------------------------------------------------------------------------------


async def test_values_become_results() -> None:
    @tool
    async def rows(n: int) -> list[int]:
        return list(range(n))

    result = await run(rows, n=2)
    assert text_of(result.content) == "[0,1]"
    assert result.structured_content == [0, 1]
    assert result.value == [0, 1]


async def test_plain_function_runs_in_a_worker_thread_with_the_callers_context() -> None:
    place = contextvars.ContextVar("place", default="elsewhere")

    @tool
    def where() -> tuple[bool, str]:
        return threading.current_thread() is threading.main_thread(), place.get()

    place.set("here")
    assert await value_of(where) == (False, "here")


async def test_plain_function_that_gives_an_awaitable_is_awaited() -> None:
    async def later(x: int) -> int:
        return x + 1

    def soon(x: int) -> Awaitable[int]:
        return later(x)

    assert await value_of(tool(soon), x=1) == 2


async def test_cancelled_call_leaves_its_thread_behind() -> None:
    started, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    @tool
    def slow() -> None:
        started.set()
        may_end.wait(5)
        ended.set()

    task = asyncio.ensure_future(run(slow))
    await anyio.to_thread.run_sync(started.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not ended.is_set()
    may_end.set()
    assert await anyio.to_thread.run_sync(ended.wait, 5)


async def test_exception_of_the_function_passes() -> None:
    @tool
    def fail() -> None:
        raise LookupError("no such row")

    with pytest.raises(LookupError, match="no such row"):
        await run(fail)


async def test_partial_functions_bound_methods_and_callable_objects_are_tools() -> None:
    class Counter:
        step = 2

        def add(self, n: int) -> int:
            return n + self.step

        async def __call__(self, n: int) -> int:
            return n * self.step

    async def scale(n: int, by: int) -> int:
        return n * by

    assert await value_of(tool(Counter().add), n=1) == 3
    assert await value_of(tool(Counter(), name="count"), n=4) == 8
    tripled = tool(functools.partial(scale, by=3))
    assert tripled.name == "scale"
    assert await value_of(tripled, n=2) == 6


def test_method_without_its_object_is_refused() -> None:
    class Counter:
        def add(self, n: int) -> int:
            return n

    assert refusal(Counter.add) == (
        'Tool "add": test_method_without_its_object_is_refused.<locals>.Counter.add is a method;'
        " make the tool from a bound one, as in tool(some_object.method)"
    )


async def test_positional_only_parameters_are_given_by_position() -> None:
    @tool
    async def f(a: int, b: int = 2, /, c: int = 3, *, d: int = 4) -> list[int]:
        return [a, b, c, d]

    assert await value_of(f, a=1) == [1, 2, 3, 4]
    assert await value_of(f, a=1, b=9, d=8) == [1, 9, 3, 8]


async def test_missing_argument_is_the_functions_own_error() -> None:
    @tool
    async def f(a: int, /) -> int:
        return a

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        await run(f)


async def test_arguments_are_converted_to_what_the_hints_say() -> None:
    @tool
    async def f(  # noqa: PLR0913 - one a type
        *,
        order: Order,
        colour: Colour,
        level: Level,
        at: dt.datetime,
        path: Path,
        ids: set[int],
        key: UUID,
        place: Place,
        size: Size | None = None,
        **rest: dt.date,
    ) -> list[Any]:
        return [order, colour, level, at, path, ids, key, place, size, rest]

    given = {
        "order": {"orderId": 1, "placed": "2026-05-01T09:30:00Z"},
        "colour": "red",
        "level": 2,
        "at": "2026-05-01T09:30:00",
        "path": "a/b",
        "ids": [1, 1],
        "key": "00000000-0000-0000-0000-000000000001",
        "place": {"lat": 3},
        "other": "2026-05-01",
    }
    assert await value_of(f, **given) == [
        Order(orderId=1, placed=dt.datetime(2026, 5, 1, 9, 30, tzinfo=dt.UTC)),
        Colour.RED,
        Level.HIGH,
        dt.datetime(2026, 5, 1, 9, 30),  # noqa: DTZ001 - naive on purpose
        Path("a/b"),
        {1},
        UUID(int=1),
        {"lat": 3.0},
        None,
        {"other": dt.date(2026, 5, 1)},
    ]


async def test_strict_models_take_json() -> None:
    class Strict(BaseModel, strict=True):
        at: dt.date

    @tool
    async def f(strict: Strict) -> Any:
        return strict.at

    assert await value_of(f, strict={"at": "2026-05-01"}) == dt.date(2026, 5, 1)


async def test_lone_surrogate_in_a_converted_argument_is_replaced() -> None:
    @tool
    async def f(name: str, day: dt.date) -> list[Any]:
        return [name, day]

    assert await value_of(f, name="a\ud800", day="2026-05-01") == ["a\ufffd", dt.date(2026, 5, 1)]


async def test_whole_number_becomes_a_float_for_a_float_parameter() -> None:
    @tool
    async def f(a: float, b: float | None = None, c: Any = None) -> str:
        return repr([a, b, c])

    assert await value_of(f, a=1, b=2, c=3) == "[1.0, 2.0, 3]"
    assert await value_of(f, a=10**400, b=None) == f"[{10**400}, None, None]"


async def test_python_objects_that_a_hook_puts_in_pass() -> None:
    @tool
    async def f(day: dt.date) -> str:
        return day.isoformat()

    assert await value_of(f, day=dt.date(2026, 5, 1)) == "2026-05-01"


async def test_defaults_in_fields_are_filled_in() -> None:
    @tool
    async def f(
        a: int = Field(5),
        b: Annotated[list[int], Field(default_factory=list)] = Field(),  # noqa: B008
        c: str = Field(),
    ) -> list[Any]:
        b.append(a)
        return [a, b, c]

    assert await value_of(f, c="x") == [5, [5], "x"]
    assert await value_of(f, c="x") == [5, [5], "x"]
    assert await value_of(f, a=1, b=[2], c="x") == [1, [2, 1], "x"]
    assert await f(2, c="y") == [2, [2], "y"]
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required argument: 'c'"):
        await f()


async def test_aliases_name_arguments_in_json_only() -> None:
    @tool
    async def f(user_id: Annotated[int, Field(alias="userId")], other: int = 1) -> list[int]:
        return [user_id, other]

    assert list(f.parameters["properties"]) == ["userId", "other"]
    assert await value_of(f, userId=3) == [3, 1]
    assert await f(user_id=4) == [4, 1]


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


def test_values_that_do_not_fit_are_told_in_the_frame_of_schema_errors() -> None:
    class Line(BaseModel):
        day: dt.date
        count: Annotated[int, AfterValidator(even)] = 0

    @tool
    def ship(lines: list[Line], note: dt.date | dt.time | None = None) -> None: ...

    assert ship.check_arguments is not None
    with pytest.raises(ArgumentsInvalid) as caught:
        ship.check_arguments({"lines": [{"day": "May", "count": 3}, {}], "note": "x"})
    assert str(caught.value) == (
        'Validation failed for tool "ship":\n'
        "  - lines.0.day: Input should be a valid date or datetime, input is too short\n"
        "  - lines.0.count: must be even\n"
        "  - lines.1.day: missing\n"
        "  - note: Input should be a valid date or datetime, input is too short\n"
        "  - note: Input should be in a valid time format, input is too short\n"
        "\n"
        "Received arguments:\n"
        "{\n"
        '  "lines": [\n'
        "    {\n"
        '      "day": "May",\n'
        '      "count": 3\n'
        "    },\n"
        "    {}\n"
        "  ],\n"
        '  "note": "x"\n'
        "}"
    )


def test_error_shows_the_arguments_as_received() -> None:
    @tool
    def f(day: dt.date) -> None: ...

    assert f.check_arguments is not None
    check: Any = f.check_arguments
    with pytest.raises(ArgumentsInvalid) as caught:
        check({"day": "x"}, {"day": ["x"]})
    assert str(caught.value).endswith('Received arguments:\n{\n  "day": [\n    "x"\n  ]\n}')


async def test_arguments_that_a_hook_spoiled_are_refused_when_the_tool_runs() -> None:
    @tool
    async def f(day: dt.date) -> None: ...

    with pytest.raises(ArgumentsInvalid, match="  - extra: unknown field"):
        await f.execute("call_1", {"day": "2026-05-01", "extra": 1}, None, None, None)  # type: ignore[misc]


def test_functions_of_json_types_need_no_check() -> None:
    def f(  # noqa: PLR0913 - one a type
        *,
        a: str,
        b: int,
        c: bool,
        d: Any,
        e: list[int],
        f: dict[str, list[str]] | None,
        g: Literal["x", 1],
        h: Annotated[int, Field(ge=1)] = 1,
    ) -> None:
        del a, b, c, d, e, f, g, h

    assert tool(f).check_arguments is None


async def test_quick_way_gives_the_same_value() -> None:
    @tool
    async def add(a: int, b: int = 2) -> int:
        return a + b

    assert add.plain is not None
    assert await add.plain(a=1) == 3
    assert await value_of(add, a=1) == 3


def test_quick_way_is_for_functions_that_need_nothing_else() -> None:
    async def simple(a: int) -> None: ...

    async def converting(a: dt.date) -> None: ...

    async def asking(a: int, ctx: ToolContext) -> None: ...

    def threaded(a: int) -> None: ...

    quick = [tool(f).plain is not None for f in (simple, converting, asking, threaded)]
    assert quick == [True, False, False, False]
    assert tool(simple, interrupt_behavior="block").plain is None


async def test_own_limit_takes_the_place_of_the_common_one() -> None:
    @tool
    async def bounded() -> str:
        return "x" * 60_000

    own = tool(bounded, max_result_chars=100_000)

    cut = await run(bounded)
    assert "[Truncated: the first 50.0KB of 58.6KB." in text_of(cut.content)
    assert cut.structured_content == "x" * 60_000
    assert text_of((await run(own)).content) == "x" * 60_000


async def test_value_without_structured_content_has_none() -> None:
    @tool
    async def path() -> Path:
        return Path("a")

    result = await run(path)
    assert (result.has_structured_content, result.value) == (False, Path("a"))
    assert result.value is not ABSENT


# -- context ---------------------------------------------------------------------------------------


async def test_context_is_given_and_not_in_the_schema() -> None:
    @tool
    async def first(ctx: ToolContext, a: int = 1) -> list[Any]:
        return [ctx, a]

    @tool
    def second(a: int, /, *, where: ToolContext | None = None) -> list[Any]:
        return [where, a]

    @tool
    async def third(ctx: Optional[ToolContext], /, a: int) -> list[Any]:  # noqa: UP045
        return [ctx, a]

    context = ToolContext()
    for definition in (first, second, third):
        assert list(definition.parameters["properties"]) == ["a"]
        assert await value_of(definition, context, a=5) == [context, 5]
        assert await value_of(definition, None, a=5) == [None, 5]


async def test_context_is_recognised_by_name_where_it_is_only_imported_for_checkers() -> None:
    namespace: dict[str, Any] = {}
    source = (
        "from __future__ import annotations\n"
        "async def a(ctx: ToolContext): return ctx\n"
        "async def b(ctx: ToolContext | None): return ctx\n"
        "async def c(ctx: Optional[ToolContext]): return ctx\n"
        "async def d(ctx: 'pi_kernel.ToolContext'): return ctx\n"
        "async def e(ctx: None | context.ToolContext): return ctx\n"
    )
    exec(compile(source, "<tools>", "exec"), namespace)  # noqa: S102 - our own text

    for name in "abcde":
        definition = tool(namespace[name])
        assert definition.parameters["properties"] == {}
        assert await value_of(definition, "the context") == "the context"


async def test_context_wins_over_an_argument_of_its_name() -> None:
    @tool
    async def f(ctx: ToolContext, **rest: Any) -> list[Any]:
        return [ctx, rest]

    result = await f.execute("call_1", {"ctx": "forged", "x": 1}, None, None, "real")  # type: ignore[misc]
    assert isinstance(result, ToolResult)
    assert result.value == ["real", {"x": 1}]


# -- pickling --------------------------------------------------------------------------------------


def test_definition_of_a_module_is_pickled_by_name() -> None:
    module = types.ModuleType("tools_of_a_test")
    exec("def f(x: int = 1) -> int: return x", vars(module))  # noqa: S102 - our own text
    definition = tool(module.f)
    module.f = definition  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    try:
        assert pickle.loads(pickle.dumps(definition)) is definition  # noqa: S301 - our own bytes
    finally:
        del sys.modules[module.__name__]


async def plus_one(x: int) -> int:
    """Add one."""
    return x + 1


async def test_definition_under_another_name_is_pickled_with_its_function() -> None:
    definition = tool(
        plus_one, name="increment", exposure="codemode", prompt_guidelines=["Use it."]
    )

    copy = pickle.loads(pickle.dumps(definition))  # noqa: S301 - our own bytes

    assert copy == definition or copy.parameters == definition.parameters
    assert (copy.name, copy.exposure, copy.prompt_guidelines) == (
        "increment",
        "codemode",
        ("Use it.",),
    )
    assert await value_of(copy, x=1) == 2


# -- define_tool -----------------------------------------------------------------------------------


async def test_define_tool_makes_a_definition_from_its_parts() -> None:
    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: Any, on_update: Any, ctx: Any
    ) -> ToolResult:
        del signal, on_update, ctx
        return ToolResult(f"{tool_call_id} {params}")

    definition = define_tool(
        name="echo",
        description="Echo.",
        parameters={"type": "object", "properties": {}},
        execute=execute,
        exposure="deferred",
    )

    assert type(definition) is ToolDefinition
    assert definition.exposure == "deferred"
    assert text_of((await run(definition, x=1)).content) == "call_1 {'x': 1}"


def test_define_tool_names_what_is_missing_or_unknown() -> None:
    with pytest.raises(PiKernelError) as missing:
        define_tool(name="echo", description="Echo.")
    assert str(missing.value) == 'Tool "echo" needs parameters, execute'

    with pytest.raises(PiKernelError) as unknown:
        define_tool(name="echo", descripton="Echo.")
    assert str(unknown.value) == (
        "Tool \"echo\" has no option 'descripton'; did you mean description?"
    )

    with pytest.raises(PiKernelError) as empty:
        define_tool()
    assert str(empty.value) == "define_tool() needs name, description, parameters, execute"
