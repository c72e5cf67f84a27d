import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daeri.text import Json
from daeri.tools import JsonTextError, parse_json

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
OBJECTS = st.dictionaries(st.text(), VALUES, min_size=1, max_size=3)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_valid_json_is_read_as_the_standard_parser_reads_it(value: Json, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse_json(text) == json.loads(text)


@given(OBJECTS, st.booleans())
@settings(max_examples=50)
def test_every_prefix_of_an_object_is_reported_as_cut_off(value: Json, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    for end in range(1, len(text)):
        with pytest.raises(JsonTextError) as caught:
            parse_json(text[:end])
        assert caught.value.truncated, text[:end]


@given(st.text(alphabet='{}[]":,0123456789.eE+-truefalsnNaIity\\u \n', max_size=30))
def test_any_text_is_read_or_refused_and_never_more(text: str) -> None:
    with contextlib.suppress(JsonTextError):
        assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "a": 2}', "line 1, column 10: the key 'a' stands twice"),
        ('{"b": [\n{"a": 1, "\\u0061": 2}]}', "line 2, column 10: the key 'a' stands twice"),
        ('{"a": NaN}', "line 1, column 7: NaN is not a JSON number"),
        ('["NaN", -Infinity]', "line 1, column 9: -Infinity is not a JSON number"),
        ('{"a": 1e999}', "line 1, column 7: 1e999 is not a JSON number"),
        ("[" + "9" * 1001 + "]", "line 1, column 2: an integer of 1001 digits is too large"),
        ('{"a": tru}', "line 1, column 7: expecting value, found 'tru}'"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": 1} extra', "column 10: extra data, found 'extra'"),
        ('{"a" 1}', "column 6: expecting ':' delimiter"),
        ('{"a": "\n"}', "invalid control character"),
        ('{"a": "\\q"}', "invalid \\escape"),
        ("", "the text is empty"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_malformed_text_is_refused_with_the_place(text: str, words: str) -> None:
    with pytest.raises(JsonTextError) as caught:
        parse_json(text)
    assert words in str(caught.value)
    assert not caught.value.truncated


@pytest.mark.parametrize(
    "text", ['{"a": "b', '{"a": tr', '{"a": -', '{"a": 1.', '{"a": 1e+', '{"a": "\\u00', '{"a": "b\\', '{"a"', "{"]
)
def test_a_text_that_stops_in_the_middle_is_told_from_a_malformed_one(text: str) -> None:
    with pytest.raises(JsonTextError, match="the text ends before the value does") as caught:
        parse_json(text)
    assert caught.value.truncated
