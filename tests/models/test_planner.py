"""The embedded planner: what holds for every goal and every set of tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daeri.models import (
    Block,
    CallAnswer,
    ModelCall,
    ModelReply,
    ModelRequest,
    ModelSettings,
    TextDelta,
    ToolSpec,
    build_model,
)
from daeri.text import JsonObject, Locale, detect_locale


def tool(name: str, description: str, required: Sequence[str] = (), **properties: JsonObject) -> ToolSpec:
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name=name, description=description, input_schema=schema)


LOOKUP = tool(
    "facts.get",
    "Look up a fact by its key. 항목을 확인합니다.",
    ["key"],
    key={"type": "string", "description": "Key (항목)"},
)
CALCULATOR = tool(
    "calc",
    "Calculate an expression. 계산합니다.",
    ["expression"],
    expression={"type": "string", "description": "Expression"},
)
DELETE = tool("records.delete", "Delete a record. 기록을 삭제합니다.", ["record"], record={"type": "string"})


def ask(
    goal: str, *tools: ToolSpec, blocks: tuple[Block, ...] = (), locale: Locale | None = None, notice: str = ""
) -> ModelRequest:
    return ModelRequest(
        instructions="", goal=goal, tools=tools, blocks=blocks, locale=locale or detect_locale(goal), notice=notice
    )


def block(name: str, arguments: JsonObject, content: str, *, failed: bool = False, id: str = "planner_1") -> Block:
    call = ModelCall(id=id, name=name, arguments=json.dumps(arguments))
    return Block(reply=ModelReply(calls=(call,)), answers=(CallAnswer(call=call, content=content, failed=failed),))


async def reply_to(request: ModelRequest) -> ModelReply:
    model, _ = await build_model(ModelSettings(reference="planner"))
    events = [event async for event in model.stream(request)]
    await model.close()
    reply = events[-1]
    assert isinstance(reply, ModelReply)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == reply.text
    assert not any(isinstance(event, ModelReply) for event in events[:-1])
    return reply


async def test_every_reply_says_what_answered_and_costs_nothing() -> None:
    reply = await reply_to(ask("hello", LOOKUP))
    assert (reply.model, reply.cost, reply.finish) == ("daeri offline planner", Decimal(0), "stop")


async def test_a_goal_that_is_not_understood_is_answered_honestly_with_what_is_offered() -> None:
    korean, english = await reply_to(ask("시를 써 줘", LOOKUP)), await reply_to(ask("Write a poem", LOOKUP))
    assert "언어 모델이 아니" in korean.text
    assert "offline planner, not a language model" in english.text
    assert all("facts.get" in reply.text and not reply.calls for reply in (korean, english))


async def test_a_missing_parameter_is_named_with_its_tool_and_description() -> None:
    due = tool(
        "tasks.due",
        "Due date of a task. 업무의 마감일.",
        ["task_id"],
        task_id={"type": "string", "description": "업무 번호"},
    )
    reply = await reply_to(ask("업무 마감일 알려줘", due))
    assert not reply.calls
    assert all(part in reply.text for part in ("tasks.due", "task_id", "업무 번호"))


async def test_a_change_to_the_world_must_be_asked_for_by_name() -> None:
    assert not (await reply_to(ask('Show the record "R1"', DELETE))).calls
    assert [call.name for call in (await reply_to(ask('Delete the record "R1"', DELETE))).calls] == ["records.delete"]


async def test_a_looked_up_number_becomes_an_operand_and_keeps_its_unit() -> None:
    goal = "Look up the unit price and calculate the total for 7 items"
    found = block("facts.get", {"key": "unit price"}, '{"key": "unit price", "value": "€24"}')
    calculation = (await reply_to(ask(goal, LOOKUP, CALCULATOR, blocks=(found,)))).calls[0]
    assert (calculation.name, json.loads(calculation.arguments)) == ("calc", {"expression": "24*7"})
    done = block("calc", {"expression": "24*7"}, '{"expression": "24 * 7", "result": "168"}', id="planner_2")
    answer = (await reply_to(ask(goal, LOOKUP, CALCULATOR, blocks=(found, done)))).text
    assert answer.splitlines()[0] == "€168."
    assert "facts.get" in answer
    assert "calc" in answer


async def test_a_calculation_that_no_tool_can_do_is_not_passed_over() -> None:
    goal = "단가를 확인해서 7개의 총 가격을 계산해 줘"
    found = block("facts.get", {"key": "단가"}, '{"key": "단가", "value": "$24"}')
    reply = await reply_to(ask(goal, LOOKUP, blocks=(found,)))
    assert "$24" in reply.text
    assert "계산은 하지 못했습니다" in reply.text


async def test_a_suggestion_in_an_error_is_tried_once_and_then_the_failure_is_told() -> None:
    failed = block("facts.get", {"key": "unitprice"}, "no such key; did you mean: 단가, unit price?", failed=True)
    second = await reply_to(ask("Look up unitprice", LOOKUP, blocks=(failed,)))
    assert json.loads(second.calls[0].arguments) == {"key": "unit price"}
    again = block(
        "facts.get", {"key": "unit price"}, "the store is down; did you mean: 단가?", failed=True, id="planner_2"
    )
    third = await reply_to(ask("Look up unitprice", LOOKUP, blocks=(failed, again)))
    assert not third.calls
    assert "the store is down" in third.text


async def test_results_that_were_cut_or_carry_a_remark_are_still_read() -> None:
    remark = block("facts.get", {"key": "단가"}, '{"key": "단가", "value": "$24"}\n[You made this same call before.]')
    cut = block("facts.get", {"key": "단가"}, '{"key": "단가", "text": "abc\n[... 9 of 20 characters cut ...]\nxyz"')
    assert "$24" in (await reply_to(ask("단가를 확인해 줘", LOOKUP, blocks=(remark,)))).text
    assert "9 of 20 characters cut" in (await reply_to(ask("단가를 확인해 줘", LOOKUP, blocks=(cut,)))).text


async def test_call_ids_are_new_in_every_turn() -> None:
    failed = block("facts.get", {"key": "price"}, "did you mean: unit price?", failed=True)
    assert (await reply_to(ask("Look up price", LOOKUP, blocks=(failed,)))).calls[0].id == "planner_2"


async def test_a_suggestion_about_something_else_is_not_followed() -> None:
    failed = block("facts.get", {"key": "capital of France"}, "no such key; did you mean: VAT rate?", failed=True)
    reply = await reply_to(ask("Look up the capital of France", LOOKUP, blocks=(failed,)))
    assert not reply.calls
    assert "VAT rate" in reply.text


async def test_several_things_are_looked_up_in_one_turn() -> None:
    reply = await reply_to(ask("단가와 배송비를 확인해 줘", LOOKUP))
    assert [json.loads(call.arguments) for call in reply.calls] == [{"key": "단가"}, {"key": "배송비"}]


async def test_a_question_that_no_tool_is_described_for_is_looked_up_where_anything_can_be() -> None:
    search = tool("notes.search", "Search the notes.", ["query"], query={"type": "string"})
    first = await reply_to(ask("What is the capital of France?", LOOKUP, search))
    assert [(call.name, json.loads(call.arguments)) for call in first.calls] == [
        ("facts.get", {"key": "capital of France"})
    ]
    failed = block("facts.get", {"key": "capital of France"}, "no such key", failed=True)
    second = await reply_to(ask("What is the capital of France?", LOOKUP, search, blocks=(failed,)))
    assert [call.name for call in second.calls] == ["notes.search"]
    found = block("notes.search", {"query": "capital of France"}, '{"passages": []}', id="planner_2")
    last = await reply_to(ask("What is the capital of France?", LOOKUP, search, blocks=(failed, found)))
    assert "nothing was found" in last.text
    assert "offline planner, not a language model" in last.text


@pytest.mark.parametrize(
    ("goal", "expression"),
    [
        ("1,200원짜리 3개와 500원짜리 2개의 합계는?", "1200*3+500*2"),
        ("100달러의 15%는 얼마야?", "100*15/100"),
        ("Calculate the sum of 3, 4 and 5", "3+4+5"),
        ("Divide 90 by 4", "90/4"),
        ("What is 7 times 8?", "7*8"),
        ("원가 40달러에서 할인 5달러를 빼면 얼마인지 계산해 줘", "40-5"),
    ],
)
async def test_arithmetic_in_words_becomes_an_expression(goal: str, expression: str) -> None:
    (call,) = (await reply_to(ask(goal, CALCULATOR))).calls
    assert json.loads(call.arguments) == {"expression": expression}


@pytest.mark.parametrize(
    ("value", "goal", "expression"),
    [
        ("1달러 = 1,380원", "환율을 확인해서 200달러가 몇 원인지 계산해 줘", "200*1380"),
        ("1달러 = 1,380원", "환율을 확인해서 27,600원이 몇 달러인지 계산해 줘", "27600/1380"),
        ("10%", "세율을 확인해서 50,000원에 더하면 얼마인지 계산해 줘", "50000*1.1"),
        ("$24", "단가를 확인해서 배송비 3,500원을 더한 금액을 계산해 줘", None),
        ("2~3일", "기간을 확인해서 7배를 계산해 줘", None),
    ],
)
async def test_a_rate_is_applied_and_an_unclear_value_is_not(value: str, goal: str, expression: str | None) -> None:
    found = block("facts.get", {"key": "x"}, json.dumps({"key": "x", "value": value}))
    calls = (await reply_to(ask(goal, LOOKUP, CALCULATOR, blocks=(found,)))).calls
    assert [json.loads(call.arguments) for call in calls] == ([{"expression": expression}] if expression else [])


async def test_numbers_that_do_not_make_a_sum_are_not_reckoned_with() -> None:
    assert not (await reply_to(ask("12개를 10% 할인해서 계산해 줘", CALCULATOR))).calls


@pytest.mark.parametrize(
    ("goal", "value", "left_out"),
    [
        ("unit price times 7 minus 10", None, "“times”"),
        ("What is unit price plus 7 plus 10?", None, "“plus”"),
        ("제품 7개와 배송비의 총 가격은?", "$5", "“와 배송비의”"),
        ("Look up the unit price and the total for 7 items and the shipping", "$24", "“and the shipping”"),
        ("단가의 절반은?", "$24", "“절반”"),
        ("What is double the unit price?", "$24", "“double”"),
        ("단가를 확인해서 7개의 가격에 배송비를 더해 줘", "$24", "“더해”"),
    ],
)
async def test_a_calculation_that_would_leave_out_a_part_of_the_goal_is_not_made(
    goal: str, value: str | None, left_out: str
) -> None:
    found = (block("facts.get", {"key": "x"}, json.dumps({"key": "x", "value": value})),) if value else ()
    reply = await reply_to(ask(goal, LOOKUP, CALCULATOR, blocks=found))
    assert not reply.calls
    assert left_out in reply.text.splitlines()[0]


async def test_a_factor_that_is_a_number_in_words_is_calculated_with() -> None:
    found = block("facts.get", {"key": "단가"}, '{"key": "단가", "value": "$24"}')
    (call,) = (await reply_to(ask("단가의 두 배는?", LOOKUP, CALCULATOR, blocks=(found,)))).calls
    assert json.loads(call.arguments) == {"expression": "24*2"}


async def test_a_suggestion_that_shares_one_word_of_two_is_not_taken() -> None:
    failed = block("facts.get", {"key": "price of a unicorn"}, "no such key; did you mean: unit price?", failed=True)
    reply = await reply_to(ask("What is the price of a unicorn?", LOOKUP, blocks=(failed,)))
    assert not reply.calls
    assert "price of a unicorn" in reply.text


async def test_an_answer_names_the_suggestion_that_it_took() -> None:
    failed = block("facts.get", {"key": "unit prise"}, "no such key; did you mean: unit price?", failed=True)
    found = block("facts.get", {"key": "unit price"}, '{"value": "$24"}', id="planner_2")
    reply = await reply_to(ask("Look up the unit prise", LOOKUP, blocks=(failed, found)))
    assert "I took “unit price” for “unit prise”" in reply.text


@pytest.mark.parametrize("goal", ["How many days of annual leave do I get?", "연차 일수는 며칠인가요?"])
async def test_a_question_is_looked_up_when_the_tool_that_fits_best_lacks_arguments(goal: str) -> None:
    workdays = tool(
        "workdays.count",
        "Count the days between two dates, without the days of leave. 일수를 셉니다.",
        ["start", "end"],
        start={"type": "string", "format": "date"},
        end={"type": "string", "format": "date"},
    )
    search = tool("documents.search", "Search the documents.", ["query"], query={"type": "string"})
    assert [call.name for call in (await reply_to(ask(goal, workdays, search))).calls] == ["documents.search"]
    assert "start" in (await reply_to(ask(goal, workdays))).text


NAMES = st.sampled_from(
    [
        "query",
        "key",
        "text",
        "path",
        "city",
        "user_id",
        "count",
        "amount",
        "date",
        "email",
        "expression",
        "flag",
        "kind",
        "x",
    ]
)
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"minLength": st.integers(0, 5), "maxLength": st.integers(3, 9)}
    ),
    st.fixed_dictionaries(
        {"type": st.just("string"), "format": st.sampled_from(["date", "email", "date-time", "uuid"])}
    ),
    st.fixed_dictionaries(
        {"type": st.just("string"), "pattern": st.sampled_from(["^[A-Z]+-[0-9]+$", "[0-9]{4}", "(", "^E"])}
    ),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(["red", "blue", "서울", "7"]), min_size=1, unique=True)}),
    st.fixed_dictionaries({"type": st.sampled_from(["integer", "number"])}, optional={"minimum": st.integers(0, 9)}),
    st.just({"type": "boolean"}),
    st.just({"type": ["string", "null"]}),
    st.just({"anyOf": [{"type": "null"}, {"type": "integer"}]}),
    st.just({"$ref": "#/$defs/Colour"}),
    st.just({"$ref": "#/$defs/Nothing"}),
    st.just({"type": "array", "items": {"enum": ["red", "blue"]}}),
    st.just({"type": "object", "properties": {"a": {"type": "string"}}}),
    st.just({}),
)
# fmt: off
WORDS = st.sampled_from([
    "find", "search", "count", "delete", "red", "blue", "서울", "7", "3.5", "12,000원", "$24", '"quoted text"',
    "a.txt", "ORD-12", "2026-08-30", "jane@example.com", "E1042", "the", "of", "and", "조회해서", "계산해", "주세요",
    "찾아", "total", ":", "단가를", "10%", "flag", "kind", "city", "-", "*", "(", "not", "from", "to", "관련",
])
# fmt: on
GOALS = st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=60))


@st.composite
def tools(draw: st.DrawFn) -> ToolSpec:
    properties = draw(st.dictionaries(NAMES, SCHEMAS, max_size=4))
    described = {name: {**schema, "description": draw(WORDS)} for name, schema in properties.items()}
    needed = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    schema: JsonObject = {
        "type": "object",
        "properties": described,
        "required": needed,
        "additionalProperties": False,
        "$defs": {"Colour": {"type": "string", "enum": ["red", "blue"]}},
    }
    name = draw(st.sampled_from(["find_things", "things.search", "count", "records.delete", "calculator"]))
    return ToolSpec(name=name, description=" ".join(draw(st.lists(WORDS, max_size=6))), input_schema=schema)


TOOLS = st.lists(tools(), max_size=4, unique_by=lambda spec: spec.name)
CONTENTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ['{"value": "$24"}', '{"result": 1e999}', "[[[", '{"a": [1, {"b": null}]}', "NaN", "did you mean: red, ?"]
    ),
)


@settings(deadline=None)
@given(goal=GOALS, offered=TOOLS, contents=st.lists(st.tuples(CONTENTS, st.booleans()), max_size=3))
async def test_any_run_stays_within_what_is_offered_and_fits_its_schema(
    goal: str, offered: list[ToolSpec], contents: list[tuple[str, bool]]
) -> None:
    blocks: tuple[Block, ...] = ()
    for content, failed in [*contents, ("", False)]:
        request = ask(goal, *offered, blocks=blocks)
        reply = await reply_to(request)
        assert reply == await reply_to(request)
        assert bool(reply.text) != bool(reply.calls)
        for call in reply.calls:
            (spec,) = [one for one in offered if one.name == call.name]
            assert jsonschema_rs.validator_for(dict(spec.input_schema)).is_valid(json.loads(call.arguments))
        if not reply.calls:
            break
        answers = tuple(CallAnswer(call=call, content=content, failed=failed) for call in reply.calls)
        blocks = (*blocks, Block(reply=reply, answers=answers))


async def test_a_huge_goal_is_read_in_no_time_worth_telling() -> None:
    for piece in ("단가를 확인해서 ", "1+", "((", "'", "a and ", "from a to ", "9-", "ㄱ:"):
        assert await reply_to(ask(piece * 50_000, LOOKUP, CALCULATOR, DELETE))
