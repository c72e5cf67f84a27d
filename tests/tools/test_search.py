from dataclasses import dataclass, field

import pytest

from daeri.text import JsonObject
from daeri.tools import ToolIndex


@dataclass(frozen=True)
class Spec:
    name: str
    description: str
    input_schema: JsonObject = field(default_factory=dict[str, JsonObject])
    tags: frozenset[str] = frozenset()


TOOLS = [
    Spec("calculator", "Calculate an arithmetic expression exactly."),
    Spec("weather.forecast", "날씨 예보를 도시별로 조회합니다."),
    Spec(
        "hr.leave_balance",
        "연차 잔여 일수를 조회합니다.",
        {"type": "object", "properties": {"employeeNumber": {"type": "string", "description": "사번"}}},
    ),
    Spec(
        "rates.convert",
        "Convert an amount.",
        {"type": "object", "properties": {"to": {"$ref": "#/$defs/C"}}, "$defs": {"C": {"enum": ["KRW", "EUR"]}}},
    ),
    Spec("report.render", "Write a document.", tags=frozenset({"quarterly"})),
]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("please calculate 3 + 4", "calculator"),
        ("내일 부산 날씨 어때?", "weather.forecast"),
        ("남은 연차가 며칠인지 알려줘", "hr.leave_balance"),
        ("사번으로 찾아줘", "hr.leave_balance"),
        ("employee number", "hr.leave_balance"),
        ("how much is that in EUR", "rates.convert"),
        ("the quarterly one", "report.render"),
        ("leave balance", "hr.leave_balance"),
    ],
)
def test_the_tool_that_the_question_is_about_comes_first(query: str, name: str) -> None:
    found = ToolIndex(TOOLS).search(query)
    assert found[0][0].name == name
    assert found[0][1] > 0


def test_nothing_is_found_where_nothing_fits_and_nothing_is_there() -> None:
    assert ToolIndex(TOOLS).search("xyzzy") == []
    assert ToolIndex[Spec]([]).search("anything") == []


def test_no_more_are_given_than_asked_for() -> None:
    assert len(ToolIndex(TOOLS).search("조회", limit=1)) == 1
