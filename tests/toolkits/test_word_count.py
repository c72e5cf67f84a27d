"""The tool `text.word_count`."""

import unicodedata
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daeri.toolkits import ToolkitConfig, builtin_tools
from daeri.tools import ToolContext

TOOLS = builtin_tools(ToolkitConfig())
FIELDS = ("words", "characters", "characters_without_spaces", "lines", "sentences")


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("", (0, 0, 0, 0, 0)),
        ("   \n", (0, 4, 0, 1, 0)),
        ("Hello, world!", (2, 13, 12, 1, 1)),
        ("나는 학교에 갔다. 비가 왔다!", (5, 17, 13, 1, 2)),
        ("It costs 3.14 dollars. Really?! Yes…", (6, 36, 31, 1, 3)),
        ('He said "stop." Then he left.', (6, 29, 24, 1, 2)),
        ("제목\n\n첫 문단입니다.\n둘째 줄입니다.", (5, 21, 16, 4, 3)),
        ("今日は。雨です。", (1, 8, 8, 1, 2)),
        ("a - b", (2, 5, 3, 1, 1)),
    ],
)
async def test_texts_are_measured(text: str, sizes: tuple[int, ...], context: ToolContext) -> None:
    assert await TOOLS.invoke("text.word_count", {"text": text}, context) == dict(zip(FIELDS, sizes, strict=True))


async def test_hangul_counts_by_syllable_in_either_form(context: ToolContext) -> None:
    forms = [unicodedata.normalize(form, "안녕하세요 여러분.") for form in ("NFC", "NFD")]
    composed, decomposed = [await TOOLS.invoke("text.word_count", {"text": form}, context) for form in forms]
    assert composed == decomposed


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
async def test_no_count_exceeds_the_next_wider_one(context: ToolContext, text: str) -> None:
    size = cast("dict[str, int]", await TOOLS.invoke("text.word_count", {"text": text}, context))
    assert size["words"] <= size["characters_without_spaces"] <= size["characters"]
    assert size["sentences"] <= size["characters_without_spaces"]
