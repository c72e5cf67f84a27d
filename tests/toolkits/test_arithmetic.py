"""What expressions are worth."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.toolkits.arithmetic import evaluate


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("24*7", "168"),
        ("0.1 + 0.2", "0.3"),
        ("1 / 3 * 3", "1"),
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("100 - 10 - 1", "89"),
        ("2 ^ 3 ** 2", "512"),
        ("-2 ** 2", "-4"),
        ("2 ** -1", "0.5"),
        ("8 ** (1/3)", "2"),
        ("(4/9) ** 1.5 * 27", "8"),
        ("(-1) ** 99999", "-1"),
        ("0 ** 0", "1"),
        ("--3", "3"),
        ("2 - -3", "5"),
        ("+5", "5"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("7.5 % 2", "1.5"),
        ("10%", "0.1"),
        ("200 + 10%", "200.1"),
        ("200 * (1 + 10%)", "220"),
        ("10% - 3", "-2.9"),
        ("10% % 3", "0.1"),
        ("1,234.5 * 2", "2469"),
        ("1.5e3 + 2E-2", "1500.02"),
        (".5 + 5.", "5.5"),
        ("007", "7"),
        ("sqrt(2.25)", "1.5"),
        ("abs(-3)", "3"),
        ("round(2.5)", "3"),
        ("round(-2.345, 2)", "-2.35"),
        ("round(1234, -2)", "1200"),
        ("floor(-1.5) + ceil(-1.5)", "-3"),
        ("MAX(1, 3, 2) - min(1, 3, 2)", "2"),
        ("sum(1, 2, 3) / avg(1, 2, 3)", "3"),
        ("max((1,234), 2)", "1234"),
        ("max(1, 2) + 1,234", "1236"),
        ("2 ** 100", "1267650600228229401496703205376"),
    ],
)
def test_an_expression_has_its_exact_value(expression: str, result: str) -> None:
    found = evaluate(expression)
    assert (found.text, found.exact) == (result, True)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 / 3", "0.3333333333333333333333333333"),
        ("2 / 3", "0.6666666666666666666666666667"),
        ("2 ** 0.5", "1.414213562373095048801688724"),
        ("pi", "3.141592653589793238462643383"),
        ("e * 1", "2.718281828459045235360287471"),
        ("sqrt(2) ** 2", "2"),
        ("sqrt(2) * sqrt(2) - 2", "0"),
        ("floor(sqrt(6) ** 2)", "6"),
        ("sqrt(7) * sqrt(7) // 1", "7"),
        ("10 ** 40 / 3", "3.333333333333333333333333333E+39"),
        ("-1e-30 / 3", "-3.333333333333333333333333333E-31"),
        ("(1 + 0.0425 / 12) ** 360", "3.570649472537994199030716104"),
    ],
)
def test_what_has_no_short_decimal_is_rounded_to_28_digits_and_says_so(expression: str, result: str) -> None:
    found = evaluate(expression)
    assert (found.text, found.exact) == (result, False)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("２４×７", "24 * 7"),
        ("1，234．5 ÷ 2", "1234.5 / 2"),
        ("5 − 3", "5 - 3"),
        ("2·3⋅4∙5", "2 * 3 * 4 * 5"),
        ("（1＋2）％", "(1 + 2)%"),
        ("2^-3", "2 ** -3"),
        ("max( 1,2 )", "max(1, 2)"),
        ("+1+ +1", "1 + 1"),
        ("10%3+5%", "10 % 3 + 5%"),
    ],
)
def test_every_way_of_writing_has_one_canonical_form(written: str, canonical: str) -> None:
    assert evaluate(written).expression == canonical


def test_an_exact_result_is_written_in_full_and_a_longer_one_rounded() -> None:
    assert len(evaluate("2 ** 3000").text) == 904
    assert evaluate("1 / 2 ** 3000").text == "8.128548625557735440471878057E-904"


_LITERALS = st.decimals(min_value=-10_000, max_value=10_000, places=4).map(
    lambda number: (f"({number})" if number < 0 else str(number), Fraction(number))
)
_Pair = tuple[str, Fraction]


def _combined(left: _Pair, sign: str, right: _Pair) -> _Pair:
    (a, x), (b, y) = left, right
    if sign in "/" and y == 0:
        sign = "+"
    value = {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else x}[sign]
    return f"({a} {sign}{b})", value


_TREES = st.recursive(
    _LITERALS, lambda below: st.builds(_combined, below, st.sampled_from("+-*/"), below), max_leaves=12
)


@given(_TREES)
def test_random_expressions_have_the_value_that_fractions_give_them(pair: _Pair) -> None:
    expression, value = pair
    found = evaluate(expression)
    if found.exact:
        assert Fraction(found.text) == value
    else:
        assert abs(Fraction(found.text) - value) <= abs(value) / 10**27


@given(st.lists(st.integers(1, 50), min_size=2, max_size=8), st.lists(st.sampled_from(["+", "-", "*", "/", "//", "%"])))
def test_operators_bind_as_in_python(numbers: list[int], signs: list[str]) -> None:
    signs = (signs + ["+"] * len(numbers))[: len(numbers) - 1]
    plain = "".join(f"{number}{sign}" for number, sign in zip(numbers, [*signs, ""], strict=True))
    fractions = "".join(f"Fraction({number}){sign}" for number, sign in zip(numbers, [*signs, ""], strict=True))
    try:
        value = Fraction(eval(fractions, {"Fraction": Fraction}))
    except ZeroDivisionError:
        return
    found = evaluate(plain)
    assert abs(Fraction(found.text) - value) <= (0 if found.exact else abs(value) / 10**27)


@given(_TREES)
def test_the_canonical_form_is_its_own_canonical_form_and_has_the_same_value(pair: _Pair) -> None:
    first = evaluate(pair[0])
    assert evaluate(first.expression) == first
