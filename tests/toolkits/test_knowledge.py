"""The tool `knowledge.lookup` on real fact files."""

from pathlib import Path
from typing import Any, cast

import pytest

from daeri.errors import ToolError
from daeri.toolkits import ToolkitConfig, builtin_tools
from daeri.tools import PythonTools, ToolContext

TOML = """
["단가"]
value = "$24"
aliases = ["unit price", "제품 가격"]

[shipping]
"배송비" = "3,500원"
"해외 배송비" = "$18"
"배송 기간" = ["2일", "3일"]

[rates]
exchange_rate = 1380.50
vat_rate = 10
open = true
since = 2020-01-02

[places."head office"]
value = "Seoul"
"""


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    file = tmp_path / "facts.toml"
    file.write_text(TOML, "utf-8")
    return file


@pytest.fixture
def tools(facts: Path) -> PythonTools:
    return builtin_tools(ToolkitConfig(knowledge_files=(facts,)))


def _replace(file: Path, text: str | None) -> None:
    file.unlink()
    if text is not None:
        file.write_text(text, "utf-8")


async def _lookup(tools: PythonTools, context: ToolContext, key: str) -> dict[str, Any]:
    return cast("dict[str, Any]", await tools.invoke("knowledge.lookup", {"key": key}, context))


async def _refusal(tools: PythonTools, context: ToolContext, key: str) -> ToolError:
    with pytest.raises(ToolError) as refused:
        await _lookup(tools, context, key)
    return refused.value


async def test_a_fact_comes_with_its_source(tools: PythonTools, context: ToolContext) -> None:
    assert await _lookup(tools, context, "단가") == {"key": "단가", "value": "$24", "source": "facts.toml#단가"}


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ("Exchange Rate", "exchange_rate"),
        ("EXCHANGE-RATE", "exchange_rate"),
        ("해외배송비", "해외 배송비"),
        ("Ｕnit  Price", "단가"),
        ("제품가격", "단가"),
        ("현재 단가는 얼마", "단가"),
        ("the unit price of product A", "단가"),
        ("배송비", "배송비"),
        ("해외 배송비 안내", "해외 배송비"),
        ("exchange", "exchange_rate"),
        ("기간", "배송 기간"),
    ],
)
async def test_names_are_matched_step_by_step(asked: str, key: str, tools: PythonTools, context: ToolContext) -> None:
    assert (await _lookup(tools, context, asked))["key"] == key


@pytest.mark.parametrize(
    ("key", "value", "source"),
    [
        ("배송 기간", "2일, 3일", "facts.toml#shipping.배송 기간"),
        ("exchange_rate", "1380.50", "facts.toml#rates.exchange_rate"),
        ("vat_rate", "10", "facts.toml#rates.vat_rate"),
        ("open", "true", "facts.toml#rates.open"),
        ("since", "2020-01-02", "facts.toml#rates.since"),
        ("head office", "Seoul", "facts.toml#places.head office"),
    ],
)
async def test_values_of_every_kind_become_text_as_written(
    key: str, value: str, source: str, tools: PythonTools, context: ToolContext
) -> None:
    assert await _lookup(tools, context, key) == {"key": key, "value": value, "source": source}


async def test_a_name_of_several_facts_is_refused_with_all_of_them(tools: PythonTools, context: ToolContext) -> None:
    refused = await _refusal(tools, context, "rate")
    assert refused.diagnostic == "'rate' names several facts; did you mean: exchange_rate, vat_rate?"
    assert refused.user_message == "'rate' could mean several things: exchange_rate, vat_rate."


@pytest.mark.parametrize("key", ["we reopen soon", "the opening ceremony"])
async def test_part_of_a_latin_word_is_no_match(key: str, tools: PythonTools, context: ToolContext) -> None:
    assert (await _refusal(tools, context, key)).diagnostic.startswith("no fact is named")


async def test_a_missing_fact_gets_the_closest_names(tools: PythonTools, korean_context: ToolContext) -> None:
    refused = await _refusal(tools, korean_context, "exchang rates")
    assert "did you mean: exchange_rate" in refused.diagnostic
    assert refused.user_message == "저장된 정보 가운데 'exchang rates' 항목을 찾지 못했습니다."


async def test_with_nothing_close_the_known_names_are_listed(tools: PythonTools, context: ToolContext) -> None:
    refused = await _refusal(tools, context, "zzz")
    assert "known facts: exchange_rate, head office" in refused.diagnostic


@pytest.mark.parametrize("key", ["", " ", "-", "가", "(", "\\", "[a-z]"])
async def test_a_name_that_says_nothing_finds_nothing(key: str, tools: PythonTools, context: ToolContext) -> None:
    assert (await _refusal(tools, context, key)).diagnostic.startswith("no fact is named")


async def test_csv_in_cp949_as_spreadsheets_write_it(tmp_path: Path, context: ToolContext) -> None:
    file = tmp_path / "요금.csv"
    file.write_bytes('key,value,aliases\r\n택배비,"3,500원",배송비|shipping fee\r\n환율,1380,\r\n'.encode("cp949"))
    tools = builtin_tools(ToolkitConfig(knowledge_files=(file,)))
    assert await _lookup(tools, context, "Shipping Fee") == {
        "key": "택배비",
        "value": "3,500원",
        "source": "요금.csv:2",
    }


async def test_json_with_groups_and_aliases(tmp_path: Path, context: ToolContext) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"prices": {"unit price": {"value": 24.50, "aliases": ["단가"]}, "tax": null}}', "utf-8")
    tools = builtin_tools(ToolkitConfig(knowledge_files=(file,)))
    assert await _lookup(tools, context, "단가") == {
        "key": "unit price",
        "value": "24.50",
        "source": "prices.json#prices.unit price",
    }


async def test_files_that_contradict_each_other_are_not_chosen_between(
    facts: Path, tmp_path: Path, context: ToolContext
) -> None:
    other = tmp_path / "newer.csv"
    other.write_text("key,value\n단가,$25\nvat_rate,10\n", "utf-8")
    tools = builtin_tools(ToolkitConfig(knowledge_files=(facts, other)))
    refused = await _refusal(tools, context, "단가")
    assert refused.diagnostic == "'단가' has different values in facts.toml#단가, newer.csv:2; correct the files"
    assert (await _lookup(tools, context, "vat_rate"))["source"] == "facts.toml#rates.vat_rate"


async def test_a_changed_file_is_read_again(facts: Path, tools: PythonTools, context: ToolContext) -> None:
    assert (await _lookup(tools, context, "단가"))["value"] == "$24"
    _replace(facts, '"단가" = "$26.50"')
    assert (await _lookup(tools, context, "단가"))["value"] == "$26.50"


async def test_a_file_spoiled_while_running_is_a_fault_of_the_tool_s_data(
    facts: Path, tools: PythonTools, context: ToolContext
) -> None:
    _replace(facts, "[broken")
    refused = await _refusal(tools, context, "단가")
    assert refused.user_message == "The stored information could not be read."
    assert refused.diagnostic.startswith("the facts of 'facts.toml' can't be read: ")
    _replace(facts, None)
    assert "No such file" in (await _refusal(tools, context, "단가")).diagnostic
