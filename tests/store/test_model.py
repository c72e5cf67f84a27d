"""Whatever units are handed over together, the store holds what a plain model of it holds."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daeri.boundary import AuditEvent, CallChange, CallRecord, CallState, JournalEntry, Record
from daeri.engine import RunRow
from daeri.errors import ConflictError
from daeri.store import SqliteStore
from daeri.text import Json

STATES: tuple[CallState, ...] = ("requested", "started", "succeeded", "failed")
RUNS = ("r0", "r1")

Step: TypeAlias = tuple[str, int, CallState, CallState]
STEP = st.tuples(
    st.sampled_from(["call", "change", "event", "fact"]),
    st.integers(0, 4),
    st.sampled_from(STATES),
    st.sampled_from(STATES),
)
ROUNDS = st.lists(st.lists(st.lists(STEP, min_size=1, max_size=4), min_size=1, max_size=8), min_size=1, max_size=4)


@dataclass(kw_only=True)
class Model:
    """Calls and journals as dictionaries."""

    calls: dict[str, tuple[CallState, Json]] = field(default_factory=dict[str, tuple[CallState, Json]])
    journals: dict[str, list[int]] = field(default_factory=lambda: {run: [] for run in RUNS})
    facts: list[int] = field(default_factory=list[int])

    def take(self, unit: Sequence[Step], mark: int) -> "Model | None":
        """The model after the unit; `None` when the unit is in conflict."""
        after = Model(
            calls=dict(self.calls),
            journals={run: list(marks) for run, marks in self.journals.items()},
            facts=list(self.facts),
        )
        for what, number, was, state in unit:
            name = f"c{number}"
            if what == "event":
                after.journals[RUNS[number % 2]].append(mark)
            elif what == "fact":
                after.facts.append(mark)
            elif what == "call":
                if name in after.calls:
                    return None
                after.calls[name] = (state, None)
            elif after.calls[name][0] != was:
                return None
            else:
                after.calls[name] = (state, mark)
        return after


@pytest.fixture(scope="module")
def new_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Copies of one migrated file: migrating for every example would take most of the time."""
    folder = tmp_path_factory.mktemp("model")

    async def make() -> None:
        async with await SqliteStore.open(folder / "made.db"):
            pass

    asyncio.run(make())
    return lambda: Path(shutil.copy(folder / "made.db", tmp_path_factory.mktemp("copy")))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rounds=ROUNDS)
def test_the_store_holds_what_a_model_of_it_holds(
    rounds: list[list[list[Step]]],
    new_file: Callable[[], Path],
    new_run: Callable[..., RunRow],
    entry: Callable[..., JournalEntry],
    call: Callable[..., CallRecord],
    change: Callable[..., CallChange],
    fact: Callable[..., AuditEvent],
) -> None:
    def records(unit: Sequence[Step], mark: int) -> list[Record]:
        make: dict[str, Callable[[int, CallState, CallState], Record]] = {
            "event": lambda number, _was, _state: entry(RUNS[number % 2], mark=mark),
            "fact": lambda _number, _was, _state: fact(mark=mark),
            "call": lambda number, _was, state: call(f"c{number}", state, run_id="r0"),
            "change": lambda number, was, state: change(f"c{number}", was, state, result=mark, has_result=True),
        }
        return [make[what](number, was, state) for what, number, was, state in unit]

    async def scenario() -> None:
        model, mark = Model(), 0
        async with await SqliteStore.open(new_file()) as store:
            for run in RUNS:
                await store.create_run(new_run(run), entry(run))
            for together in rounds:
                expected: list[bool] = []
                commits: list[asyncio.Task[Sequence[int]]] = []
                for given_unit in together:
                    unit = possible(given_unit, model)
                    mark += 1
                    commits.append(asyncio.create_task(store.commit(records(unit, mark))))
                    after = model.take(unit, mark)
                    expected.append(after is not None)
                    model = after or model
                outcomes = await asyncio.gather(*commits, return_exceptions=True)
                assert [not isinstance(outcome, ConflictError) for outcome in outcomes] == expected
            assert await held_by(store) == model

    asyncio.run(scenario())


def possible(unit: Sequence[Step], model: Model) -> list[Step]:
    """Without changes of calls that nobody has made: which of two units that meet comes first is the store's to say."""
    known = set(model.calls)
    kept: list[Step] = []
    for step in unit:
        if step[0] == "call":
            known.add(f"c{step[1]}")
        if step[0] != "change" or f"c{step[1]}" in known:
            kept.append(step)
    return kept


async def held_by(store: SqliteStore) -> Model:
    """What the store holds, as a model."""
    model = Model()
    for stored in await store.calls_of("acme", "r0"):
        result = await store.result_of("acme", stored.record.call_id) if stored.result_digest else None
        model.calls[stored.record.call_id] = (stored.state, result)
    for run in RUNS:
        first, *events = await store.events("acme", run)
        assert [event.seq for event in (first, *events)] == list(range(1, len(events) + 2))
        model.journals[run] = [_mark(event.data["mark"]) for event in events]
    rows = await store.audit_of("acme", "r1")
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    model.facts = [int(row.data.removeprefix('{"mark":').removesuffix("}")) for row in rows]
    return model


def _mark(value: Json) -> int:
    assert isinstance(value, int)
    return value
