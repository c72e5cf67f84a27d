"""The tool `documents.search` on real folders."""

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.errors import SettingsError
from daeri.toolkits import ToolkitConfig, builtin_tools
from daeri.toolkits._passages import LONGEST, passages
from daeri.tools import PythonTools, ToolContext

LEAVE = """# 휴가 규정

모든 직원에게 적용합니다.

## 연차

1년을 채우면 15일을 받습니다.

## 병가

1년에 10일까지 유급으로 쉴 수 있습니다.
"""
EXPENSES = "# Expenses\n\nHotels are reimbursed up to 150,000 won per night.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "hr").mkdir(parents=True)
    (folder / "hr" / "leave.md").write_text(LEAVE, "utf-8")
    (folder / "expenses.txt").write_text(EXPENSES, "utf-8")
    return folder


@pytest.fixture
def tools(folder: Path) -> PythonTools:
    return builtin_tools(ToolkitConfig(document_folders=(folder,)))


async def _search(tools: PythonTools, context: ToolContext, query: str, **limit: int) -> dict[str, Any]:
    return cast("dict[str, Any]", await tools.invoke("documents.search", {"query": query, **limit}, context))


@pytest.mark.parametrize(
    ("query", "source", "heading"),
    [
        ("병가는 며칠인가요?", "hr/leave.md", "휴가 규정 > 병가"),
        ("연차를 알려줘", "hr/leave.md", "휴가 규정 > 연차"),
        ("hotel reimbursement per night", "expenses.txt", "Expenses"),
    ],
)
async def test_the_passage_on_the_topic_comes_first(
    query: str, source: str, heading: str, folder: Path, tools: PythonTools, context: ToolContext
) -> None:
    result = await _search(tools, context, query)
    best = result["passages"][0]
    assert (best["source"], best["heading"]) == (source, heading)
    assert best["text"] == (folder / source).read_text("utf-8")[best["start"] : best["end"]]
    assert result["documents"] == 2


async def test_nothing_found_is_an_empty_list(tools: PythonTools, context: ToolContext) -> None:
    assert await _search(tools, context, "quantum chromodynamics") == {"passages": [], "documents": 2, "skipped": []}
    assert (await _search(tools, context, "?!"))["passages"] == []


async def test_an_empty_folder_says_that_nothing_was_searched(tmp_path: Path, context: ToolContext) -> None:
    tools = builtin_tools(ToolkitConfig(document_folders=(tmp_path,)))
    assert await _search(tools, context, "휴가") == {"passages": [], "documents": 0, "skipped": []}


async def test_the_limit_holds(tools: PythonTools, context: ToolContext) -> None:
    assert len((await _search(tools, context, "1년에 직원 휴가 규정", limit=2))["passages"]) == 2


async def test_changed_new_and_deleted_files_are_noticed(
    folder: Path, tools: PythonTools, context: ToolContext
) -> None:
    assert (await _search(tools, context, "parking"))["passages"] == []
    (folder / "parking.md").write_text("Parking costs 5 dollars.", "utf-8")
    assert [hit["source"] for hit in (await _search(tools, context, "parking"))["passages"]] == ["parking.md"]
    (folder / "parking.md").write_text("Cycling is free of charge.", "utf-8")
    assert (await _search(tools, context, "cycling"))["passages"][0]["text"] == "Cycling is free of charge."
    (folder / "parking.md").unlink()
    assert await _search(tools, context, "cycling") == {"passages": [], "documents": 2, "skipped": []}


async def test_files_without_text_are_named_and_links_and_hidden_files_left_alone(
    folder: Path, tmp_path: Path, tools: PythonTools, context: ToolContext
) -> None:
    (folder / "scan.md").write_bytes(b"\0\1\2")
    (tmp_path / "secret.md").write_text("secret leave policy", "utf-8")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "hr" / "up").symlink_to(tmp_path)
    (folder / ".draft.md").write_text("secret draft", "utf-8")
    assert await _search(tools, context, "secret") == {"passages": [], "documents": 2, "skipped": ["scan.md"]}


async def test_cp949_documents_are_searched(folder: Path, tools: PythonTools, context: ToolContext) -> None:
    (folder / "old.txt").write_bytes("주차장은 지하 2층입니다.\r\n".encode("cp949"))
    assert (await _search(tools, context, "주차장"))["passages"][0]["text"] == "주차장은 지하 2층입니다."


async def test_concurrent_first_searches_agree(tools: PythonTools, context: ToolContext) -> None:
    results = await asyncio.gather(*(_search(tools, context, "병가") for _ in range(8)))
    assert results == [results[0]] * 8
    assert results[0]["passages"]


async def test_several_folders_are_searched_and_told_apart(folder: Path, tmp_path: Path, context: ToolContext) -> None:
    other = tmp_path / "wiki"
    other.mkdir()
    (other / "leave.md").write_text("병가 신청 방법", "utf-8")
    tools = builtin_tools(ToolkitConfig(document_folders=(folder, other)))
    sources = {hit["source"] for hit in (await _search(tools, context, "병가"))["passages"]}
    assert sources == {"documents/hr/leave.md", "wiki/leave.md"}


async def test_with_morphemes_a_verb_is_found_in_another_form(folder: Path, context: ToolContext) -> None:
    pytest.importorskip("kiwipiepy")
    (folder / "visit.md").write_text("손님이 걸어오면 문을 열어 드립니다.", "utf-8")
    tools = builtin_tools(ToolkitConfig(document_folders=(folder,), morphemes=True))
    assert (await _search(tools, context, "문 열기"))["passages"][0]["source"] == "visit.md"


def test_morphemes_without_their_package_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    with pytest.raises(SettingsError, match=r'`toolkits\.morphemes` = True.* pip install "daeri\[ko\]"'):
        builtin_tools(ToolkitConfig(morphemes=True))


_LINES = st.sampled_from(
    [
        "# Title",
        "## Part",
        "### Deep ##",
        "text. More text",
        "가나다. 라마바",
        "",
        " ",
        "```",
        "~~~",
        "# code",
        "x" * 700,
        "y. " * 900,
    ]
)


@given(st.lists(_LINES, max_size=30).map("\n".join) | st.text())
def test_passages_are_exact_ordered_parts_that_hold_every_word_but_headings(text: str) -> None:
    found = passages(text)
    assert all(text[passage.start : passage.end] == passage.text for passage in found)
    assert all(0 < len(passage.text) <= LONGEST for passage in found)
    ends = [0, *(passage.end for passage in found)]
    assert all(end <= passage.start for end, passage in zip(ends, found, strict=False))
    gaps = [text[end : passage.start] for end, passage in zip(ends, found, strict=False)] + [text[ends[-1] :]]
    assert all(not line.strip() or line.lstrip().startswith("#") for gap in gaps for line in gap.splitlines())


def test_a_heading_inside_code_is_text() -> None:
    [passage] = passages("# Setup\n\n```sh\n# install\nmake setup\n\nmake demo\n```\n")
    assert (passage.heading, passage.text) == ("Setup", "```sh\n# install\nmake setup\n\nmake demo\n```")


def test_short_paragraphs_of_a_section_stay_together_and_sections_apart() -> None:
    found = passages("a\n\nb\n\n# One\n\nc\n\n## Two\n\nd\n\n# Three\n\ne\n")
    assert [(passage.heading, passage.text) for passage in found] == [
        ("", "a\n\nb"),
        ("One", "c"),
        ("One > Two", "d"),
        ("Three", "e"),
    ]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    found = passages("This is one sentence of many. " * 100)
    assert len(found) == 3
    assert all(passage.text.endswith(".") for passage in found)
