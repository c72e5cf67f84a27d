"""Canonical JSON and digests."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import Json, canonical_json, digest

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_keys_are_sorted_and_white_space_is_gone() -> None:
    assert canonical_json({"나": 1.0, "a": [True, None, 2.5]}) == '{"a":[true,null,2.5],"나":1}'


def test_equal_values_have_equal_digests_and_others_do_not() -> None:
    assert digest({"a": 1, "b": 2.0}) == digest({"b": 2, "a": 1.0}) != digest({"a": 1, "b": 3})


def test_a_known_digest_never_changes() -> None:
    assert digest({"a": 1}) == "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_what_json_cannot_say_is_refused(value: Json) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(value)


@given(VALUES)
def test_the_canonical_form_reads_back_to_itself(value: Json) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


def test_lone_surrogates_have_a_digest() -> None:
    assert digest("\ud800").startswith("sha256:")
