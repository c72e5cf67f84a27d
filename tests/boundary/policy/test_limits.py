from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.boundary import CallLimit, CallLimits, LimitPart, Selector
from daeri.identity import Principal

if TYPE_CHECKING:
    from tests.boundary.policy.conftest import AskFor, MakeTool

EVERYTHING = Selector()
KIM = Principal(tenant="acme", subject="user:kim")


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def _rate(calls: float, *per: LimitPart, name: str = "r", burst: int = 1, selector: Selector = EVERYTHING) -> CallLimit:
    return CallLimit(name=name, selector=selector, per=per, calls_per_minute=calls, burst=burst)


def _slots(number: int, *per: LimitPart) -> CallLimit:
    return CallLimit(name="s", selector=EVERYTHING, per=per, concurrent=number)


def test_a_bucket_gives_its_burst_and_then_one_call_per_share_of_a_minute(question: AskFor) -> None:
    clock = Clock()
    limits = CallLimits([_rate(30, burst=3)], clock=clock)

    at_once = [limits.spend(question()) is None for _ in range(4)]
    clock.now += 2
    after = [limits.spend(question()) is None for _ in range(2)]

    assert (at_once, after) == ([True, True, True, False], [True, False])


def test_a_refusal_names_limit_and_time_and_is_a_decision(question: AskFor) -> None:
    limits = CallLimits([_rate(30, "tenant")], clock=Clock())
    limits.spend(question())

    refused = limits.spend(question())

    assert refused is not None
    assert (refused.decision.verdict, refused.decision.rules) == ("deny", ("limit.rate",))
    assert (refused.failure.kind, refused.failure.retry_after_s) == ("rate_limited", 2.0)
    assert refused.failure.diagnostic == "limit 'r': 30 calls a minute for each tenant; the next in 2 s"


@given(
    rate=st.floats(0.1, 10_000),
    burst=st.integers(1, 20),
    pauses=st.lists(st.floats(0, 120), min_size=1, max_size=60),
)
def test_a_call_that_comes_again_when_it_was_told_to_is_admitted_and_no_minute_gives_more_than_its_share(
    rate: float, burst: int, pauses: list[float], question: AskFor
) -> None:
    clock = Clock()
    limits, began, admitted = CallLimits([_rate(rate, burst=burst)], clock=clock), clock.now, 0
    for pause in pauses:
        clock.now += pause
        refused = limits.spend(question())
        if refused is not None:
            assert refused.failure.retry_after_s is not None
            clock.now += refused.failure.retry_after_s
            assert limits.spend(question()) is None
        admitted += 1

    assert admitted <= burst + (clock.now - began) * rate / 60 + 1e-6 * len(pauses)


def test_a_call_takes_of_all_limits_or_of_none(question: AskFor) -> None:
    clock = Clock()
    limits = CallLimits([_rate(60, name="wide", burst=2), _rate(1, name="narrow")], clock=clock)
    limits.spend(question())

    refused = [limits.spend(question()) for _ in range(5)]
    clock.now += 60
    admitted = limits.spend(question())

    assert all(one is not None and "narrow" in one.failure.diagnostic for one in refused)
    assert admitted is None


@pytest.mark.parametrize(
    ("per", "shared"),
    [
        ((), {"other person", "other tenant", "other tool", "as agent"}),
        (("tenant",), {"other person", "other tool", "as agent"}),
        (("principal",), {"other tool", "as agent"}),
        (("tool",), {"other person", "other tenant", "as agent"}),
        (("principal", "tool"), {"as agent"}),
    ],
)
def test_calls_are_counted_apart_by_what_the_limit_says_and_agents_count_for_their_person(
    per: tuple[LimitPart, ...], shared: set[str], question: AskFor, make_tool: MakeTool
) -> None:
    others = {
        "other person": question(principal=Principal(tenant="acme", subject="user:lee")),
        "other tenant": question(principal=Principal(tenant="globex", subject="user:kim")),
        "other tool": question(make_tool("other"), principal=KIM),
        "as agent": question(principal=KIM.acting_as("clerk")),
    }

    def counts(name: str) -> bool:
        limits = CallLimits([_rate(1, *per)], clock=Clock())
        limits.spend(question(principal=KIM))
        return limits.spend(others[name]) is not None

    assert {name for name in others if counts(name)} == shared


def test_a_limit_counts_only_what_it_selects(question: AskFor, make_tool: MakeTool) -> None:
    limits = CallLimits([_rate(1, selector=Selector(tool="mail.*"))], clock=Clock())

    assert [limits.spend(question()) for _ in range(3)] == [None, None, None]
    assert [limits.spend(question(make_tool("mail.send"))) is None for _ in range(2)] == [True, False]


def test_a_slot_is_given_back_however_its_call_ends(question: AskFor) -> None:
    limits = CallLimits([_slots(1)])

    def fail_in_the_slot() -> None:
        with limits.slot(question()) as refused:
            assert refused is None
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_in_the_slot()

    with limits.slot(question()) as refused:
        assert refused is None


def test_when_all_slots_are_held_the_next_is_refused_with_a_time(question: AskFor) -> None:
    limits = CallLimits([_slots(2, "principal")])
    with limits.slot(question()), limits.slot(question()), limits.slot(question()) as refused:
        assert refused is not None
        assert refused.decision.rules == ("limit.concurrency",)
        assert refused.failure.retry_after_s == 1.0
        with limits.slot(question(principal=Principal(tenant="acme", subject="user:lee"))) as other:
            assert other is None

    with limits.slot(question()) as refused:
        assert refused is None


def test_an_approved_call_holds_a_place_even_when_there_is_none_left(question: AskFor) -> None:
    limits = CallLimits([_slots(1)])
    with limits.held(question()), limits.held(question()), limits.slot(question()) as refused:
        assert refused is not None

    with limits.slot(question()) as refused:
        assert refused is None


def test_buckets_that_are_full_again_are_forgotten(question: AskFor) -> None:
    clock = Clock()
    limits = CallLimits([_rate(60, "principal")], clock=clock)
    for number in range(25_000):
        clock.now += 1
        assert limits.spend(question(principal=Principal(tenant="acme", subject=f"user:{number}"))) is None

    assert len(limits._buckets) <= 10_001  # pyright: ignore[reportPrivateUsage]  # memory can't be seen from outside
