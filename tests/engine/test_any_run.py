"""What holds of every run, whatever its model does."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daeri.engine import Agent, Limits, RunEvent, decode_event
from daeri.errors import ModelError, ModelErrorKind
from daeri.models import Finish, ModelCall, ModelReply, Usage
from daeri.tools import tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.conftest import Lab


@tool(read_only=True)
def look(key: str) -> str:
    """Look something up."""
    return key * 700


@tool
async def act(key: str) -> str:
    """Change something."""
    if key == "b":
        raise RuntimeError("it broke")
    return key


@tool(risk="high")
def pay(key: str) -> str:
    """Never without approval."""
    raise AssertionError(key)


Drawn: TypeAlias = "tuple[str, list[tuple[str, str, str]], Finish] | ModelErrorKind"

names = st.sampled_from(["look", "look", "act", "act", "pay", "lok"])
arguments = st.sampled_from(
    ['{"key": "a"}', '{"key": "b"}', '{"key":"a"}', '{"key": 1}', '{"key"', "[]", "", '{"key": "a", "more": null}']
)
ids = st.sampled_from(["", "call_1", "call_2"])
calls = st.lists(st.tuples(names, arguments, ids), max_size=3)
finishes: st.SearchStrategy[Finish] = st.sampled_from(["stop", "calls", "length", "filtered", "other"])
replies = st.tuples(st.sampled_from(["", "text"]), calls, finishes)
errors: st.SearchStrategy[ModelErrorKind] = st.sampled_from(["rate_limit", "context_overflow", "authentication"])
turns = st.lists(replies | replies | replies | errors, max_size=7)
limits = st.builds(
    Limits,
    max_steps=st.integers(1, 6),
    max_context_blocks=st.integers(1, 3),
    context_tokens=st.sampled_from([0, 500, 5000]),
    max_tool_output_chars=st.sampled_from([1, 300, 4000]),
)


def _turn(number: int, drawn: Drawn) -> ModelReply | ModelError:
    if isinstance(drawn, str):
        return ModelError(drawn, "fake", "drawn to fail")
    text, asked, finish = drawn
    made = tuple(
        ModelCall(id=f"{number}.{index}", name=name, arguments=written, provider_id=id)
        for index, (name, written, id) in enumerate(asked)
    )
    return ModelReply(text=text, calls=made, finish=finish, usage=Usage(input_tokens=9, output_tokens=1))


def _states(events: Sequence[RunEvent]) -> list[str]:
    return [event.name for event in events if event.name.startswith("run.")]


@given(turns, limits)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_every_run_comes_to_one_end_and_its_journal_tells_all_of_it(
    lab: Lab, drawn: list[Drawn], given_limits: Limits
) -> None:
    model = lab.Model(*(_turn(number, one) for number, one in enumerate(drawn)), lab.fails("quota"))
    engine = await lab.engine(look, act, pay) if not lab.engines else lab.engines[0][0]
    run = await engine.start(
        "Do it.", agent=Agent(name="clerk"), model=model, principal=lab.principal, limits=given_limits
    )
    followed = [event async for event in run.events() if event.seq is not None]
    result = await lab.result(run)

    stored = await lab.stored(run.run_id)
    assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
    assert followed == [decode_event(run.run_id, event) for event in stored]
    assert await lab.refolded(run.run_id) == result
    assert _states(followed) == ["run.started", "run.ended" if result.reason else "run.waiting"]
    assert result.reason != "internal"
    for request in model.requests:
        assert len(request.blocks) <= given_limits.max_context_blocks
        for block in request.blocks:
            assert [answer.call.id for answer in block.answers] == [call.id for call in block.reply.calls]
    possible = ("succeeded", "failed", "denied", "waiting") if result.approvals else ("succeeded", "failed", "denied")
    assert {call.state for call in result.calls} <= set(possible)
