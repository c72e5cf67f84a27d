import json
import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import Json
from daeri.tools import check_limits

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({"a": [math.nan]}, "/a/0", "a finite number"),
        ({"a": {"b": math.inf}}, "/a/b", "a finite number"),
        ({"a": 10**1001}, "/a", "at most 1000 digits"),
        ({"a": date(2026, 1, 1)}, "/a", "a Python date"),
        ({"a": b"x"}, "/a", "a Python bytes"),
        ({"a": {1: 2}}, "/a", "a key that is not a string"),
        ({"a": {1, 2}}, "/a", "a Python set"),
        ({"a": "x" * 1_000_001}, "", "more than 1,000,000 bytes"),
        ({"가" * 400_000: 1}, "", "more than 1,000,000 bytes"),
        (nested(100_000), "/0/0/0", "more than 64 deep"),
    ],
    ids=["nan", "inf", "digits", "date", "bytes", "key", "set", "long", "long key", "deep"],
)
def test_what_breaks_a_limit_or_is_no_json_is_named(value: Any, path: str, words: str) -> None:
    problem = check_limits(value)
    assert problem is not None
    assert problem.path == path
    assert words in problem.message


def test_a_value_that_holds_itself_is_too_deep() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert check_limits(ring) is not None


def test_the_depth_allowed_is_allowed() -> None:
    assert check_limits(nested(3), max_depth=3) is None
    assert check_limits(nested(4), max_depth=3) is not None


@given(VALUES)
def test_json_of_ordinary_size_passes_and_its_size_is_about_right(value: Json) -> None:
    assert check_limits(value) is None
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    assert check_limits(value, max_bytes=2 * size + 16) is None
    if size > 32:
        assert check_limits(value, max_bytes=size // 8) is not None
