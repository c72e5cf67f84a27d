"""Arguments as they are kept and as they are shown again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.models._calls import recorded_arguments, replayable_arguments, unique_ids


@given(
    st.text()
    | st.recursive(st.none() | st.floats() | st.text(), lambda c: st.dictionaries(st.text(), c)).map(json.dumps)
)
def test_any_arguments_are_shown_again_as_an_object(text: str) -> None:
    shown = replayable_arguments(recorded_arguments(text))
    assert isinstance(json.loads(shown, parse_constant=pytest.fail), dict)
    assert shown.encode("utf-8")


def test_arguments_that_are_fine_are_shown_again_as_they_were_written() -> None:
    written = '{ "b": 1.0,\n "a": "단가" }'
    assert replayable_arguments(recorded_arguments(written)) == written


@pytest.mark.parametrize("text", ["[1]", "null", '{"a": NaN}', '{"a": 1e999}', '{"a":', "[" * 100_000, "보세요"])
def test_anything_else_is_shown_as_what_it_was(text: str) -> None:
    shown = json.loads(replayable_arguments(text))
    assert list(shown) == ["_malformed_arguments"]
    assert shown["_malformed_arguments"][:4] == text[:4]
    assert len(shown["_malformed_arguments"]) <= 500


def test_an_escaped_surrogate_is_shown_scrubbed() -> None:
    assert json.loads(replayable_arguments('{"a": "\\ud800"}')) == {"a": "\ufffd"}


@given(st.lists(st.sampled_from(["", "a", "b", "x" * 65]), max_size=6), st.sets(st.sampled_from(["a", "c"])))
def test_ids_are_unique_and_the_providers_where_they_can_be(provider_ids: list[str], taken: set[str]) -> None:
    ids = unique_ids(provider_ids, taken)
    assert len(set(ids)) == len(ids) == len(provider_ids)
    assert taken.isdisjoint(ids)
    for name in {"a", "b"} - taken:
        assert (name in ids) == (name in provider_ids)
