"""Requests for approval: decided by comparing versions, so that of any number of attempts one gets through."""

import asyncio
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import IO, Any, get_args

import pytest

from daeri.boundary import (
    ApprovalChange,
    ApprovalRecord,
    ApprovalState,
    CallChange,
    CallRecord,
    StoredApproval,
    Vote,
)
from daeri.errors import ConflictError, NotFoundError
from daeri.store import SqliteStore

Worker = Callable[..., subprocess.Popen[str]]
Rows = Callable[..., Sequence[tuple[Any, ...]]]
Ask = Callable[..., ApprovalRecord]
Call = Callable[..., CallRecord]
ATTEMPTS = 1000


def lines(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def moved(
    request: ApprovalRecord, version: int, state: ApprovalState, approver: str | None = None, **given: Any
) -> ApprovalChange:
    at: datetime = request.created_at + timedelta(minutes=version + 1)
    verdict = "reject" if state == "rejected" else "approve"
    vote = approver and Vote(approver=approver, verdict=verdict, reason="확인했습니다", at=at)
    fields: dict[str, Any] = {"tenant": request.tenant, "version": version, "state": state, "at": at, "vote": vote}
    return ApprovalChange(approval_id=request.approval_id, **{**fields, **given})


@pytest.fixture
async def request_(store: SqliteStore, ask: Ask, call: Call) -> ApprovalRecord:
    """A request that waits."""
    request = ask()
    await store.commit([call("c1", "waiting"), request])
    return request


async def test_a_request_is_read_back_with_its_votes_in_the_order_in_which_they_were_cast(
    store: SqliteStore, request_: ApprovalRecord
) -> None:
    first, second = moved(request_, 0, "pending", "user:zoe"), moved(request_, 1, "approved", "user:ann")
    void = moved(request_, 2, "void", detail="the definition has changed")

    for step in (first, second, void):
        await store.commit([step])

    assert await store.find_approval("acme", "a1") == StoredApproval(
        record=replace(request_, state="void"),
        state="void",
        version=3,
        votes=tuple(step.vote for step in (first, second) if step.vote),
        detail="the definition has changed",
        closed_at=void.at,
    )


@pytest.mark.parametrize(
    ("state", "closed"),
    [(state, state not in ("pending", "approved")) for state in get_args(ApprovalState)],
)
async def test_a_request_is_closed_when_nothing_more_can_come_of_it(
    store: SqliteStore, request_: ApprovalRecord, state: ApprovalState, closed: bool
) -> None:
    change = moved(request_, 0, state)

    await store.commit([change])

    stored = await store.find_approval("acme", "a1")
    assert stored is not None
    assert stored.closed_at == (change.at if closed else None)


async def test_a_change_of_a_past_version_is_a_conflict_and_leaves_no_vote(
    store: SqliteStore, request_: ApprovalRecord, rows: Rows
) -> None:
    await store.commit([moved(request_, 0, "approved", "user:park")])

    for late in (moved(request_, 0, "rejected", "user:lee"), moved(request_, 7, "rejected", "user:lee")):
        with pytest.raises(ConflictError, match=f"approval request 'a1' is no longer at version {late.version}"):
            await store.commit([late])
    with pytest.raises(ConflictError, match="approval request 'a1'"):
        await store.commit([moved(request_, 1, "rejected", tenant="other")])

    assert rows("SELECT approver, version FROM approval_votes") == [("user:park", 1)]


async def test_one_person_votes_once(store: SqliteStore, request_: ApprovalRecord) -> None:
    await store.commit([moved(request_, 0, "pending", "user:park")])

    with pytest.raises(ConflictError, match="vote of 'user:park' is no longer new"):
        await store.commit([moved(request_, 1, "approved", "user:park")])

    stored = await store.find_approval("acme", "a1")
    assert stored is not None
    assert (stored.state, stored.version, len(stored.votes)) == ("pending", 1, 1)


async def test_consuming_a_request_and_starting_its_call_are_one_step(
    store: SqliteStore, request_: ApprovalRecord, change: Callable[..., CallChange]
) -> None:
    await store.commit([moved(request_, 0, "approved", "user:park")])
    start = change("c1", "waiting", "started")
    await store.commit([moved(request_, 1, "consumed"), start])

    with pytest.raises(ConflictError):
        await store.commit([moved(request_, 1, "consumed"), start])

    stored = await store.find_approval("acme", "a1")
    assert stored is not None
    assert (stored.state, stored.version) == ("consumed", 2)


async def test_of_a_thousand_decisions_at_once_one_gets_through(
    store: SqliteStore, request_: ApprovalRecord, rows: Rows
) -> None:
    outcomes = await asyncio.gather(
        *[store.commit([moved(request_, 0, "approved", f"user:{number}")]) for number in range(ATTEMPTS)],
        return_exceptions=True,
    )

    winners = [number for number, outcome in enumerate(outcomes) if not isinstance(outcome, ConflictError)]
    assert rows("SELECT approver FROM approval_votes") == [(f"user:{number}",) for number in winners]
    assert len(winners) == 1


async def test_of_a_thousand_decisions_in_two_processes_one_gets_through(
    store: SqliteStore, request_: ApprovalRecord, worker: Worker, rows: Rows
) -> None:
    both = [worker("decide_once", name, str(ATTEMPTS // 2)) for name in ("p", "q")]
    assert [lines(process.stdout).readline() for process in both] == ["ready\n", "ready\n"]
    for process in both:
        lines(process.stdin).write("go\n")
        lines(process.stdin).flush()

    winners = [line.strip() for process in both for line in lines(process.stdout)]

    assert [process.wait() for process in both] == [0, 0]
    assert rows("SELECT approver FROM approval_votes") == [(name,) for name in winners]
    assert len(winners) == 1
    assert rows("SELECT state, version FROM approvals") == [("approved", 1)]


async def test_after_a_kill_every_acknowledged_decision_is_there_with_its_vote(
    store: SqliteStore, request_: ApprovalRecord, worker: Worker, rows: Rows
) -> None:
    acknowledged: set[str] = set()
    for kill, acks in enumerate((1, 40, 5)):
        process = worker("decide_for_ever", f"p{kill}")
        output = lines(process.stdout)
        said = [output.readline() for _ in range(acks)]
        process.kill()
        acknowledged |= {line.strip() for line in [*said, *output] if line.endswith("\n")}

        cast = {approver for (approver,) in rows("SELECT approver FROM approval_votes")}
        assert acknowledged <= cast
        assert rows("SELECT version FROM approvals") == [(len(cast),)]
    assert len(acknowledged) >= 46


async def test_the_same_ask_outside_runs_waits_once(store: SqliteStore, ask: Ask, call: Call) -> None:
    waiting = [call(f"c{number}", "waiting") for number in range(1, 6)]
    first = ask("a1", "c1", digest="sha256:same")
    await store.commit([*waiting, first])

    with pytest.raises(ConflictError, match="approval request 'a2' is no longer new"):
        await store.commit([ask("a2", "c2", digest="sha256:same")])
    await store.commit([ask("a3", "c3", digest="sha256:same", run_id="r1"), ask("a4", "c4", digest="sha256:other")])
    assert await store.pending_approval("acme", "sha256:same") == await store.find_approval("acme", "a1")
    assert await store.pending_approval("other", "sha256:same") is None

    await store.commit([moved(first, 0, "approved")])
    assert await store.pending_approval("acme", "sha256:same") is None
    await store.commit([ask("a5", "c5", digest="sha256:same")])
    pending = await store.pending_approval("acme", "sha256:same")
    assert pending is not None
    assert pending.record.approval_id == "a5"


async def test_a_request_is_found_by_the_beginning_of_its_id_when_there_is_one(
    store: SqliteStore, ask: Ask, call: Call
) -> None:
    await store.commit([call("c1", "waiting")])
    await store.commit([ask(name, "c1") for name in ("apr_1", "apr_12", "apr_2", "가나")])

    async def found(begin: str) -> str | None:
        stored = await store.find_approval("acme", begin)
        return stored and stored.record.approval_id

    assert [await found(begin) for begin in ("apr_1", "apr_12", "apr_2", "가")] == ["apr_1", "apr_12", "apr_2", "가나"]
    assert [await found(begin) for begin in ("", "apr_", "apr_3", "%")] == [None] * 4
    assert await store.find_approval("other", "apr_1") is None


async def test_requests_are_listed_by_state_and_in_pages_newest_first(store: SqliteStore, ask: Ask, call: Call) -> None:
    requests = [ask(f"a{n}", created_at=ask().created_at + timedelta(seconds=n // 2)) for n in range(5)]
    await store.commit([call("c1", "waiting"), *requests, moved(requests[1], 0, "rejected", "user:park")])

    async def listed(**options: Any) -> list[str]:
        return [stored.record.approval_id for stored in await store.approvals("acme", **options)]

    assert await listed() == ["a4", "a3", "a2", "a1", "a0"]
    assert await listed(state="pending", limit=3) == ["a4", "a3", "a2"]
    assert await listed(state="pending", before="a2") == ["a0"]
    assert await listed(state="rejected") == ["a1"]
    assert await store.approvals("other") == []
    with pytest.raises(NotFoundError, match="no approval request 'a9'"):
        await listed(before="a9")


async def test_requests_whose_time_is_over_are_found_whatever_their_tenant(
    store: SqliteStore, ask: Ask, call: Call
) -> None:
    end = ask().expires_at
    late = [
        ask("a1", expires_at=end),
        ask("a2", tenant="other", expires_at=end - timedelta(hours=1)),
        ask("a3", expires_at=end + timedelta(microseconds=1)),
        ask("a4", expires_at=end),
    ]
    await store.commit([call("c1", "waiting"), call("c1", "waiting", tenant="other"), *late])
    await store.commit([moved(late[0], 0, "approved", "user:park"), moved(late[3], 0, "withdrawn")])

    async def expired(limit: int = 100) -> list[str]:
        return [stored.record.approval_id for stored in await store.expired_approvals(end, limit)]

    assert await expired() == ["a2", "a1"]
    assert await expired(1) == ["a2"]
