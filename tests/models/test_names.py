"""Tool names, mapped to what model APIs accept and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.models._names import ToolNames

ACCEPTED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# Few letters, so that clashes happen; and any text at all.
names = st.text("ab_.-가 /", max_size=12) | st.text(max_size=80)


@given(st.lists(names, max_size=20))
def test_every_name_is_accepted_unique_and_comes_back(given_names: list[str]) -> None:
    mapped = ToolNames(given_names)
    written = {name: mapped.written(name) for name in given_names}
    assert all(ACCEPTED.fullmatch(form) for form in written.values())
    assert len(set(written.values())) == len(set(given_names))
    assert all(mapped.own(form) == name for name, form in written.items())


@given(names, st.lists(names, max_size=20))
def test_a_written_name_does_not_depend_on_the_other_tools(name: str, others: list[str]) -> None:
    assert ToolNames([name, *others]).written(name) == ToolNames([name]).written(name)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("calculator", "calculator"),
        ("knowledge.lookup", "knowledge__lookup"),
        ("mcp.files.read-only", "mcp__files__read-only"),
        ("run_program", "run_program"),
    ],
)
def test_common_names_stay_readable_without_a_hash(name: str, written: str) -> None:
    assert ToolNames([name]).written(name) == written


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("문서.search", r"search-[0-9a-f]{8}"),
        ("단가", r"tool-[0-9a-f]{8}"),
        ("a__b", r"a__b-[0-9a-f]{8}"),
        ("x" * 80, r"x{55}-[0-9a-f]{8}"),
        ("read\n", r"read-[0-9a-f]{8}"),
        ("", r"tool-[0-9a-f]{8}"),
    ],
)
def test_names_that_cannot_be_written_get_a_hash(name: str, pattern: str) -> None:
    assert re.fullmatch(pattern, ToolNames([name]).written(name))


def test_a_name_that_takes_the_hashed_form_of_another_keeps_its_place() -> None:
    taken = ToolNames(["단가"]).written("단가")
    both = ToolNames(["단가", taken])
    assert both.written(taken) == taken
    assert both.written("단가") != taken
    assert both.own(both.written("단가")) == "단가"


def test_a_name_that_nobody_offered_comes_as_written() -> None:
    assert ToolNames(["a.b"]).own("delete_everything") == "delete_everything"
