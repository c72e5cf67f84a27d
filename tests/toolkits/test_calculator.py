"""The tool `calculator`, called as the gateway calls it."""

from typing import cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from daeri.errors import ToolError
from daeri.toolkits import ToolkitConfig, builtin_tools
from daeri.toolkits.arithmetic import MAX_DIGITS, MAX_LENGTH
from daeri.tools import ToolContext

TOOLS = builtin_tools(ToolkitConfig())
_SPELLINGS = st.text(alphabet="0123456789.,+-*/%^()eE ×÷，％０sqrtpimaxround\u3000$원", max_size=60)


async def test_it_answers_with_the_canonical_expression_and_the_result(context: ToolContext) -> None:
    result = await TOOLS.invoke("calculator", {"expression": "24*7"}, context)
    assert result == {"expression": "24 * 7", "result": "168", "exact": True}


@pytest.mark.parametrize(
    ("expression", "message", "diagnostic"),
    [
        ("3 +", "at character 4", "position 4: expected a number, a function or '(', found the end"),
        ("", "at character 1", "position 1: expected a number, a function or '(', found the end"),
        ("(1 + 2", "at character 7", "position 7: expected an operator or ')', found the end"),
        ("1 + 2)", "at character 6", "position 6: expected an operator or the end, found ')'"),
        ("2(3)", "at character 2", "position 2: expected an operator or the end, found '('"),
        ("24 * 7개", "at character 7", "position 7: '개' has no meaning here; write numbers without currencies"),
        ("$24 * 7", "at character 1", "position 1: '$' has no meaning here; write numbers without currencies"),
        ("1 # 2", "at character 3", "position 3: '#' has no meaning here; expected a number"),
        ("lookup(3)", "at character 1", "position 1: 'lookup' is not known; expected a number or one of abs, avg"),
        ("sqrt 4", "at character 6", "position 6: expected '(' after 'sqrt', found '4'"),
        ("sqrt(1, 2)", "at character 1", "position 1: 'sqrt' takes 1 argument, got 2"),
        ("avg()", "at character 1", "position 1: 'avg' takes at least 1 argument, got 0"),
        ("round(1, 2, 3)", "at character 1", "position 1: 'round' takes 1 or 2 arguments, got 3"),
        ("max(1, )", "at character 8", "position 8: expected a number, a function or '(', found ')'"),
        ("max(1,234)", "at character 6", "write 1, 234 for several, 1234 for one"),
        ("1,23", "at character 2", "position 2: expected an operator or the end, found ','"),
        ("1 / (2 - 2)", "divided by zero", "position 3: division by zero"),
        ("5 % (0)", "divided by zero", "position 3: division by zero"),
        ("5 // 0", "divided by zero", "position 3: division by zero"),
        ("0 ** -1", "divided by zero", "position 3: division by zero"),
        ("sqrt(-4)", "no real number", "position 1: no real result"),
        ("round(1, 0.5)", "decimal places", "the number of decimal places"),
        ("9 ** 9 ** 9", "too large or too small", "position 3: a result is outside"),
        ("10 ** 999 * 10", "too large or too small", "position 11: a result is outside"),
        ("1e-999 / 100", "too large or too small", "position 8: a result is outside"),
        ("1.000001 ** 100001", "too large or too small", "an exponent above 100,000"),
        ("1e999999999999", "too large or too small", "position 1: a result is outside"),
        ("2 ** 0.5 ** -40", "too large or too small", "a result is outside"),
        ("(" * 100 + "1" + ")" * 100, "too long or too deeply nested", "position 61: more than 60 levels"),
        ("1+" * 600 + "1", "too long or too deeply nested", "the expression has 1,201 characters; at most 1,000"),
    ],
)
async def test_what_can_t_be_calculated_is_explained_to_people_and_to_the_model(
    expression: str, message: str, diagnostic: str, context: ToolContext
) -> None:
    with pytest.raises(ToolError) as refused:
        await TOOLS.invoke("calculator", {"expression": expression}, context)
    assert message in refused.value.user_message
    assert diagnostic in refused.value.diagnostic


async def test_people_are_told_in_their_language(korean_context: ToolContext) -> None:
    with pytest.raises(ToolError) as refused:
        await TOOLS.invoke("calculator", {"expression": "1/0"}, korean_context)
    assert refused.value.user_message == "0으로 나눌 수 없습니다."


async def _outcome(expression: str, context: ToolContext) -> str:
    try:
        result = cast("dict[str, str]", await TOOLS.invoke("calculator", {"expression": expression}, context))
    except ToolError as refused:
        return refused.user_message
    return result["result"]


@pytest.mark.parametrize(
    "unit",
    [
        "sqrt(9e499)+",
        "2**.3+",
        "9**",
        "sqrt(",
        "(",
        "-",
        "7e300**.123456789*",
        "1/9999991+",
        "(1/3)**.5*",
        "1e999//7+",
        "(9e400/7)**99999+",
    ],
)
async def test_the_costliest_expressions_that_fit_come_to_a_short_end(unit: str, context: ToolContext) -> None:
    expression = unit * ((MAX_LENGTH - 1) // len(unit)) + "1"
    assert 0 < len(await _outcome(expression, context)) < 2 * MAX_DIGITS


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("1e")
@example("²")
@example("٣")
@example("1" * 1_000)
@example("0." + "0" * 997 + "1")
@example("-" * 1_000)
@given(st.one_of(_SPELLINGS, st.text(max_size=80)))
async def test_any_text_has_a_value_or_is_refused_with_words(context: ToolContext, expression: str) -> None:
    assert await _outcome(expression, context)
