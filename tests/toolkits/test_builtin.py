"""What the provider offers, and the sample data shipped with the product."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from daeri.errors import SettingsError, ToolError
from daeri.text import catalogue
from daeri.toolkits import ToolkitConfig, builtin_tools
from daeri.tools import Annotations, Tool, ToolContext, load_tools

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIG = ToolkitConfig(
    file_roots=(EXAMPLES,),
    knowledge_files=(EXAMPLES / "knowledge.toml",),
    document_folders=(EXAMPLES / "documents",),
)


async def _tools(config: ToolkitConfig) -> Mapping[str, Tool]:
    return {tool.name: tool for tool in await builtin_tools(config).list_tools()}


async def test_every_toolkit_is_offered_with_its_scopes() -> None:
    assert {name: tool.scopes for name, tool in (await _tools(CONFIG)).items()} == {
        "calculator": frozenset(),
        "text.word_count": frozenset(),
        "files.read": frozenset({"files:read"}),
        "knowledge.lookup": frozenset({"knowledge:read"}),
        "documents.search": frozenset({"documents:read"}),
    }


async def test_all_of_them_only_read() -> None:
    for tool in (await _tools(CONFIG)).values():
        assert tool.annotations == Annotations(read_only=True, idempotent=True)
        assert (tool.risk, tool.source) == ("low", "toolkits")


async def test_a_toolkit_without_anything_to_read_is_not_offered() -> None:
    assert list(await _tools(ToolkitConfig())) == ["calculator", "text.word_count"]


async def test_every_tool_and_parameter_is_described_and_no_context_shows() -> None:
    for tool in (await _tools(CONFIG)).values():
        properties = cast("dict[str, dict[str, Any]]", tool.input_schema["properties"])
        assert tool.description
        assert "context" not in properties
        assert all(schema.get("description") for schema in properties.values()), tool.name


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("calculator", {"expression": "1/3"}),
        ("text.word_count", {"text": "안녕하세요"}),
        ("files.read", {"path": "documents/leave.md", "last_line": 3}),
        ("knowledge.lookup", {"key": "단가"}),
        ("documents.search", {"query": "연차", "limit": 3}),
    ],
)
async def test_arguments_and_results_keep_the_contract(
    name: str, arguments: dict[str, Any], context: ToolContext
) -> None:
    tool = (await _tools(CONFIG))[name]
    jsonschema_rs.validate(cast("dict[str, Any]", tool.input_schema), arguments)
    result = await builtin_tools(CONFIG).invoke(name, arguments, context)
    assert tool.output_schema is not None
    jsonschema_rs.validate(cast("dict[str, Any]", tool.output_schema), result)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("단가", "$24"),
        ("unit price", "$24"),
        ("shipping fee", "3,500원"),
        ("국제 환율", None),
        ("영업시간", "평일 09:00~18:00"),
    ],
)
async def test_the_sample_facts_answer(key: str, value: str | None, context: ToolContext) -> None:
    result = cast("dict[str, str]", await builtin_tools(CONFIG).invoke("knowledge.lookup", {"key": key}, context))
    assert result["value"] == (value or "1달러 = 1,380원 (사내 기준 환율)")


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("연차는 며칠 받나요", "leave.md"),
        ("hotel limit per night", "expenses.md"),
        ("비밀번호 길이", "security.md"),
        ("환불은 언제 되나요", "refunds.md"),
    ],
)
async def test_the_sample_documents_answer(query: str, source: str, context: ToolContext) -> None:
    result = cast("dict[str, Any]", await builtin_tools(CONFIG).invoke("documents.search", {"query": query}, context))
    assert result["passages"][0]["source"] == source


async def test_the_sample_tools_find_an_order_and_mark_its_refund_as_high_risk(context: ToolContext) -> None:
    find, refund = load_tools("tools/orders.py", root=EXAMPLES).functions
    assert cast("dict[str, str]", await find.invoke({"number": "HB-1001"}, context))["amount_krw"] == "48000"
    assert (refund.tool.risk, refund.tool.scopes) == ("high", frozenset({"orders:write"}))
    with pytest.raises(ToolError, match="No order HB-9"):
        await refund.invoke({"number": "HB-9", "reason": "broken"}, context)


_NOWHERE = (Path("nowhere.toml"),)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (ToolkitConfig(file_roots=_NOWHERE), "`toolkits.file_roots` = 'nowhere.toml': no such folder"),
        (ToolkitConfig(document_folders=_NOWHERE), "`toolkits.document_folders` = 'nowhere.toml': no such folder"),
        (ToolkitConfig(knowledge_files=_NOWHERE), "`toolkits.knowledge_files` = 'nowhere.toml': no such file"),
    ],
)
def test_a_path_that_isn_t_there_stops_the_start(config: ToolkitConfig, message: str) -> None:
    with pytest.raises(SettingsError) as stopped:
        builtin_tools(config)
    assert str(stopped.value) == f"setting {message}. Create it or correct the path."


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("f.toml", b"[broken", "Expected ']'"),
        ("f.json", b"[1, 2]", "outermost value must be an object"),
        ("f.json", b"{", "line 1"),
        ("f.csv", b"name,price\na,1\n", "must name the columns"),
        ("f.csv", b"key,value\na,1\n,2\n", "line 3: a row needs a key and a value"),
        ("f.csv", b"key,value\na\n", "line 2: a row needs a key and a value"),
        ("f.csv", b'key,value\na,"1\n', "line 2: unexpected end of data"),
        ("f.toml", b"[a]\nvalue = 1\naliases = [1]\n", "`a.aliases` must be a list of texts"),
        ("f.toml", b"\x89PNG\0", "no text in UTF-8"),
        ("f.yaml", b"a: 1", "not from .yaml"),
    ],
)
def test_a_fact_file_that_can_t_be_understood_stops_the_start(
    name: str, data: bytes, problem: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SettingsError) as stopped:
        builtin_tools(ToolkitConfig(knowledge_files=(tmp_path / name,)))
    assert problem in str(stopped.value)
    assert "Correct the file" in str(stopped.value)


def test_both_languages_have_the_same_messages_of_toolkits() -> None:
    korean, english = ({key for key in catalogue(locale) if key.startswith("toolkits.")} for locale in ("ko", "en"))
    assert korean == english
