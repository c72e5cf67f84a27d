from collections.abc import Sequence

import pytest

from daeri.errors import DefinitionError, NotFoundError
from daeri.identity import Principal
from daeri.text import Json, JsonObject
from daeri.tools import Tool, ToolContext, ToolRegistry

KIM = Principal(tenant="acme", subject="kim")


class Source:
    """A provider of tools that can be closed."""

    def __init__(self, name: str, tools: Sequence[Tool], fault: str = "") -> None:
        self.name = name
        self.closed = False
        self._tools = tools
        self._fault = fault

    async def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        raise AssertionError(tool)

    async def aclose(self) -> None:
        self.closed = True
        if self._fault:
            raise OSError(self._fault)


def made(
    name: str, source: str = "one", description: str = "", schema: JsonObject | None = None, **rest: JsonObject
) -> Tool:
    return Tool(name=name, description=description, input_schema=schema or {"type": "object"}, source=source, **rest)  # pyright: ignore[reportArgumentType] - only output_schema is passed on


async def registry_of(*sources: Source) -> ToolRegistry:
    registry = ToolRegistry()
    for source in sources:
        await registry.add(source)
    return registry


def names(tools: Sequence[Tool]) -> list[str]:
    return [tool.name for tool in tools]


async def test_tools_are_listed_by_name_whatever_the_order_they_came_in() -> None:
    one, two = Source("one", [made("z"), made("b")]), Source("two", [made("a", "two")])
    registry = await registry_of(one, two)
    assert names(registry.tools()) == ["a", "b", "z"]
    assert registry.provider_of("b") is one
    assert registry.provider_of("a") is two


async def test_two_tools_of_one_name_are_refused_naming_both_sources_and_nothing_is_kept() -> None:
    registry = await registry_of(Source("one", [made("pay")]))
    with pytest.raises(DefinitionError, match="both 'one' and 'two' have a tool of this name"):
        await registry.add(Source("two", [made("fresh", "two"), made("pay", "two")]))
    assert names(registry.tools()) == ["pay"]
    await registry.add(Source("two", [made("fresh", "two")]))
    assert names(registry.tools()) == ["fresh", "pay"]


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (made("no spaces"), "the name is not valid"),
        (made("a", "elsewhere"), "comes from 'elsewhere', but 'one' lists it"),
        (made("a", schema={"type": "string"}), "not of type object"),
        (made("a", schema={"type": "object", "properties": {"b": {"type": "text"}}}), "schema of its arguments"),
        (made("a", output_schema={"$ref": "https://example.com"}), "schema of its result"),
    ],
)
async def test_a_tool_that_can_not_be_used_is_refused(tool: Tool, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        await registry_of(Source("one", [tool]))


async def test_two_sources_of_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError, match="tool source 'one'"):
        await registry_of(Source("one", []), Source("one", []))


async def test_an_unknown_name_is_answered_with_the_closest() -> None:
    registry = await registry_of(Source("one", [made("files.read"), made("calculator")]))
    with pytest.raises(NotFoundError, match=r"no tool 'file\.read'. Did you mean files\.read\?"):
        registry.get("file.read")
    with pytest.raises(NotFoundError, match="no tool 'zzz'"):
        registry.provider_of("zzz")


async def test_a_disabled_tool_is_out_of_sight_and_keeps_its_definition() -> None:
    registry = await registry_of(Source("one", [made("a"), made("b")]))
    before = registry.get("a").definition_hash
    registry.disable("a")
    assert names(registry.visible_to(KIM)) == ["b"]
    assert registry.get("a").enabled is False
    assert registry.get("a").definition_hash == before
    registry.enable("a")
    assert names(registry.visible_to(KIM)) == ["a", "b"]


async def test_an_allow_list_decides_what_is_visible_and_scopes_do_not() -> None:
    guarded = Tool(
        name="files.write", description="", input_schema={"type": "object"}, source="one", scopes=frozenset({"x"})
    )
    registry = await registry_of(Source("one", [made("files.read"), guarded, made("pay")]))
    assert names(registry.visible_to(KIM, frozenset({"files.*"}))) == ["files.read", "files.write"]
    assert names(registry.visible_to(KIM, frozenset())) == []


async def test_search_finds_enabled_and_allowed_tools_only() -> None:
    registry = await registry_of(
        Source("one", [made("mail.send", description="Send a mail"), made("mail.read", description="Read a mail")])
    )
    assert names(registry.search("send mail", 1)) == ["mail.send"]
    assert names(registry.search("mail", allowed={"mail.read"})) == ["mail.read"]
    registry.disable("mail.send")
    assert names(registry.search("send mail")) == ["mail.read"]


async def test_closing_reaches_every_provider_though_one_fails() -> None:
    first, second = Source("one", []), Source("two", [], fault="stuck")
    registry = await registry_of(first, second)
    with pytest.raises(OSError, match="stuck"):
        await registry.aclose()
    assert (first.closed, second.closed) == (True, True)
