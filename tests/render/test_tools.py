from __future__ import annotations

from typing import Any

from pi_kernel import ToolSession, tool
from pi_kernel.protocol.tools import ToolAnnotations, ToolNamespace
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.render._schema_types import parameters_of, type_name
from pi_kernel.render.tools import MAX_HTML_BYTES, tools_bundle
from tests.render.reading import tags_in, text_in, tool_of

SCHEMA = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "default": 100, "description": "At most\n this many."},
        "sql": {"type": "string", "description": "One statement."},
    },
    "required": ["sql"],
}


def registry_of(*tools: Any) -> ToolRegistry:
    registry = ToolRegistry()
    for each in tools:
        registry.register(each)
    return registry


def shown(registry: ToolRegistry) -> str:
    html = tools_bundle(registry.registered.values(), registry)["text/html"]
    assert len(html.encode()) <= MAX_HTML_BYTES
    return text_in(html)


def query(**fields: Any) -> Any:
    return tool_of(
        "query", None, parameters=SCHEMA, description="Run a query. It only reads.", **fields
    )


def test_a_tool_of_ones_own_says_everything_about_itself() -> None:
    registry = registry_of(query(annotations=ToolAnnotations(read_only_hint=True)))
    text = shown(registry)
    assert text == (
        "Tools 1 tool, 1 for the model, 1 for scripts"
        "ToolExposureModel can callScripts can call"
        "Your own, 1 from tests.render.reading"
        "query read-only\nRun a query.\nsql str, limit? int = 100"
        "It is active, so the model, scripts and other tools can call it."
        " Your cells call it with await ctx.tools.query(sql=...)."
        "Run a query. It only reads."
        "sql str One statement."
        "limit? int = 100 At most this many."
        "directyesyes"
    )


def test_the_text_is_an_aligned_table() -> None:
    registry = registry_of(query(), tool_of("x", None, exposure="hidden", description="Old."))
    assert tools_bundle(registry.registered.values(), registry)["text/plain"] == (
        "Tool   Exposure  Model  Scripts  Description\n"
        "query  direct    yes    yes      Run a query.\n"
        "    sql str, limit? int = 100\n"
        "x      hidden    no     no       Old.\n"
        "\n"
        "2 tools, 1 for the model, 1 for scripts. A parameter with ? may be left out."
    )


def test_an_inactive_tool_says_how_it_becomes_active() -> None:
    registry = registry_of(query())
    registry.set_active([])
    text = shown(registry)
    assert "directno, not activeno, not active" in text
    assert (
        "It is not active, so only your cells can call it: await ctx.tools.query(sql=...)."
        ' To activate it: ctx.session.set_active(["+query"]).'
    ) in text


def test_a_tool_for_the_model_only_cannot_be_called_by_scripts() -> None:
    registry = registry_of(query(exposure="model-only"))
    assert "model-onlyyesno" in shown(registry)
    registry.set_active([])
    text = shown(registry)
    assert "model-onlyno, not activeno" in text
    assert 'To activate it: ctx.session.set_active(["+query"]).' in text


def test_a_tool_for_scripts_says_how_to_offer_it_to_the_model() -> None:
    registry = registry_of(query(exposure="codemode"))
    text = shown(registry)
    assert "codemodenoyes" in text
    assert 'To offer it to the model as well, set exposure="direct".' in text
    registry.set_active(["query"])
    assert "It is active, so the model can call it too." in shown(registry)


def test_a_deferred_tool_is_called_after_a_search() -> None:
    registry = registry_of(query(exposure="deferred"))
    text = shown(registry)
    assert "deferrednoyes" in text
    assert 'which is not active: ctx.session.set_active(["+tool_search"])' in text
    registry.register(tool_of("tool_search", None))
    assert "deferredafter tool_searchyes" in shown(registry)


def test_a_hidden_and_a_switched_off_tool_say_why() -> None:
    assert "so nothing can call it." in shown(registry_of(query(exposure="hidden")))
    text = shown(registry_of(query(is_enabled=lambda: False)))
    assert "directno, switched offno, switched off" in text
    assert "its is_enabled() says no" in text


def test_a_name_that_is_no_python_name_has_code_that_works() -> None:
    text = shown(registry_of(tool_of("my-tool", None)))
    assert "Your cells call it with await ctx.execute_tool('my-tool', {...})." in text


def test_tools_stand_in_groups_by_where_they_came_from() -> None:
    registry = ToolRegistry()
    registry.register(query(), source="builtin")
    registry.register(tool_of("a", None), source="extension", extension="github")
    registry.register(tool_of("b", None, namespace=ToolNamespace(name="mcp__docs")))
    text = shown(registry)
    positions = [
        text.index(group) for group in ("Built into pi_kernel, 1", "github, 1", "mcp__docs, 1")
    ]
    assert positions == sorted(positions)
    assert " from " not in text  # the groups say it


def test_a_tool_says_where_it_came_from_where_its_group_does_not() -> None:
    def mine() -> str:
        return ""

    mine.__module__ = "__main__"
    text = shown(registry_of(query(), tool(mine)))
    assert "Your own, 2query" in text
    assert "\nsql str, limit? int = 100\nFrom tests.render.reading" in text
    assert "mine\nFrom this notebook" in text


def test_the_built_in_tools_have_a_table() -> None:
    session = ToolSession()
    text = shown(session.registry)
    assert "read read-only\nRead a file." in text
    assert "bash destructive\nRun one bash command in the working directory." in text


def test_no_tools_are_said_in_words() -> None:
    bundle = tools_bundle([], ToolRegistry())
    assert bundle["text/plain"] == "No tools registered."
    assert text_in(bundle["text/html"]) == "Tools No tools registered."


def test_a_pattern_that_no_tool_has_is_not_told_as_an_empty_registry() -> None:
    bundle = tools_bundle([], ToolSession().registry)
    assert bundle["text/plain"] == "No tool matches."
    assert text_in(bundle["text/html"]) == "Tools No tool matches."


def test_a_thousand_tools_are_cut_and_counted_quickly() -> None:
    registry = registry_of(*(tool_of(f"tool_{n}", None, parameters=SCHEMA) for n in range(1_000)))
    bundle = tools_bundle(registry.registered.values(), registry)
    assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
    n_rows = tags_in(bundle["text/html"]).count("tr") - 2
    assert f"{1_000 - n_rows} more tools, %tools with a part of a name" in text_in(
        bundle["text/html"]
    )
    assert len(bundle["text/plain"].split("\n")) == 1 + 2 * 200 + 3
    assert "(800 more tools, %tools with a part" in bundle["text/plain"]


def test_hostile_names_and_schemas_stay_text() -> None:
    hostile = "<script>\u202e\x00\ud800'\"" + "&" * 100_000
    schema: dict[str, Any] = {
        "properties": {hostile: {"type": hostile, "description": hostile, "default": hostile}},
        "required": [hostile],
    }
    tools = [
        tool_of(hostile + str(n), None, description=hostile, parameters=schema) for n in range(9)
    ]
    registry = registry_of(*tools)
    bundle = tools_bundle(tools, registry)
    assert "\u202e" not in text_in(bundle["text/html"])
    assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
    assert not {"\x00", "\u202e", "\ud800"} & set(bundle["text/plain"])


def test_types_are_written_as_in_python() -> None:
    root: dict[str, Any] = {"$defs": {"Edit": {"properties": {}}, "Kind": {"enum": ["a", "b"]}}}
    cases: list[tuple[Any, str]] = [
        ({"type": "string"}, "str"),
        ({"type": "number"}, "num"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"enum": list(range(9))}, "0 | 1 | 2 | 3 | 4 | 5 | …"),
        ({"const": "x"}, '"x"'),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, "dict | None"),
        ({"$ref": "#/$defs/Edit"}, "Edit"),
        ({"$ref": "#/$defs/Kind"}, '"a" | "b"'),
        ({"$ref": "#"}, "#"),
        ({}, "any"),
        (True, "any"),
        ({"type": 3}, "3"),
        ({"anyOf": 3}, "any"),
    ]
    assert [type_name(schema, root) for schema, _ in cases] == [text for _, text in cases]


def test_a_schema_that_nests_without_end_is_cut() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    assert type_name(schema) == "list[list[list[list[list[any]]]]]"


def test_odd_schemas_have_no_parameters() -> None:
    odd: list[Any] = [None, True, {}, {"properties": 3}, {"properties": []}]
    for schema in odd:
        assert parameters_of(schema) == []
    [parameter] = parameters_of({"properties": {"a": True}, "required": 3})
    assert parameter.signature == "a? any"
