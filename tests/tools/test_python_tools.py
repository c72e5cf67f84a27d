import pytest

from daeri.errors import DefinitionError, NotFoundError
from daeri.tools import PythonTools, ToolContext, tool


async def test_a_provider_lists_its_tools_under_its_own_name(context: ToolContext) -> None:
    @tool
    def one() -> int:
        return 1

    provider = PythonTools("mine", [one])
    assert [(listed.name, listed.source) for listed in await provider.list_tools()] == [("one", "mine")]
    assert await provider.invoke("one", {}, context) == 1


def test_a_provider_refuses_two_functions_of_one_name() -> None:
    @tool(name="twin")
    def first() -> None: ...
    @tool(name="twin")
    def second() -> None: ...

    with pytest.raises(DefinitionError, match=r"first and .*second both have this name"):
        PythonTools("python", [first, second])


async def test_a_provider_carries_out_its_own_tools_only(context: ToolContext) -> None:
    with pytest.raises(NotFoundError, match="no tool 'other'"):
        await PythonTools("mine", []).invoke("other", {}, context)
