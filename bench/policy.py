"""What a decision costs: the built-in rules, with rules of the settings, with Cedar, and the limits.

    python bench/policy.py [--seconds 1] [--tools 20 200] [--policies 4 50]

CPU time of one decision about a call with three arguments. "new people" asks as somebody else every time, so that
Cedar's entities have to be built; otherwise one person asks again and again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from daeri.boundary import (
    BuiltInPolicy,
    CallLimit,
    CallLimits,
    Policy,
    PolicyQuestion,
    PolicyRule,
    RulePolicy,
    Selector,
    StrictestPolicy,
)
from daeri.boundary.cedar import CedarPolicy
from daeri.identity import Principal
from daeri.tools import Tool

KIM = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"mail:*"}), roles=frozenset({"user"}))
SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "copies": {"type": "integer"}, "urgent": {"type": "boolean"}},
    "required": ["to", "copies"],
}
ARGUMENTS = {"to": "kim@example.com", "copies": 2, "urgent": False}
RULES = [PolicyRule(name=f"r{number}", selector=Selector(tag=f"tag{number}"), deny=True) for number in range(10)]
LIMITS = [
    CallLimit(name="tenant", selector=Selector(), per=("tenant",), calls_per_minute=1e9, burst=10**9, concurrent=10**9),
    CallLimit(name="person", selector=Selector(), per=("principal", "tool"), calls_per_minute=1e9, burst=10**9),
]


def tools(number: int) -> Sequence[Tool]:
    """Tools that differ by their names."""
    return [
        Tool(name=f"mail.send_{index}", description="Send.", input_schema=SCHEMA, scopes=frozenset({"mail:send"}))
        for index in range(number)
    ]


def policies(number: int) -> str:
    """Policies that all apply to the call and none of which forbids it."""
    return "\n".join(
        f'@id("p{index}") forbid(principal, action in Daeri::Action::"*", resource)'
        f" when {{ context.args.copies > {1000 + index} }};"
        for index in range(number)
    )


def cpu_us(work: Callable[[], object], seconds: float) -> float:
    """Microseconds of CPU for one time."""
    done, end = 0, time.perf_counter() + seconds
    began = time.process_time()
    while time.perf_counter() < end:
        for _ in range(20):
            work()
        done += 20
    return (time.process_time() - began) / done * 1e6


def asking(policy: Policy, question: PolicyQuestion, *, new_people: bool = False) -> Callable[[], object]:
    """Ask the policy once more."""
    numbers = count()

    def ask() -> object:
        if not new_people:
            return policy.decide(question)
        somebody = replace(KIM, subject=f"user:{next(numbers)}")
        return policy.decide(replace(question, principal=somebody))

    return ask


def limited(question: PolicyQuestion) -> Callable[[], object]:
    """Count one call and hold its place."""
    limits = CallLimits(LIMITS)

    def call() -> None:
        limits.spend(question)
        with limits.slot(question):
            pass

    return call


def cases(offered: Sequence[Tool], counts: Sequence[int], folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Everything that is measured over some tools, by name."""
    question = PolicyQuestion(
        principal=KIM, tool=offered[0], arguments=ARGUMENTS, origin="run", at=datetime.now(UTC), agent="clerk"
    )
    floor, rules = BuiltInPolicy(), RulePolicy(RULES)
    yield "built-in rules", asking(StrictestPolicy([floor]), question)
    yield f"and {len(RULES)} rules of the settings", asking(StrictestPolicy([floor, rules]), question)
    yield f"{len(LIMITS)} limits alone", limited(question)
    for number in counts:
        (folder / "all.cedar").write_text(policies(number), "utf-8")
        began = time.perf_counter()
        cedar = CedarPolicy(folder, lambda: offered)
        print(f"  loading {number} Cedar policies took {time.perf_counter() - began:.2f} s")
        policy = StrictestPolicy([floor, rules, cedar])
        yield f"and {number} Cedar policies", asking(policy, question)
        yield f"and {number} Cedar policies, new people", asking(policy, question, new_people=True)


def main(options: argparse.Namespace) -> None:
    """Measure all and print a table."""
    for number in options.tools:
        print(f"{number} tools")
        with tempfile.TemporaryDirectory() as folder:
            for name, work in cases(tools(number), options.policies, Path(folder)):
                print(f"  {name:40} {cpu_us(work, options.seconds):10.1f} µs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--tools", type=int, nargs="+", default=[20, 200])
    parser.add_argument("--policies", type=int, nargs="+", default=[4, 50])
    main(parser.parse_args())
