from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from daeri.boundary import ApprovalRecord, AuditEvent, CallChange, CallRecord, JournalEntry, StoredApproval, StoredCall
from daeri.errors import ConflictError, Failure, NotFoundError, StoreError
from daeri.store import SqliteStore
from daeri.text import digest

Rows = Callable[..., Sequence[tuple[Any, ...]]]


@pytest.fixture
def approval(ask: Callable[..., ApprovalRecord]) -> ApprovalRecord:
    return ask("a1", "c1", run_id="r1", agent="assistant")


async def test_a_call_is_read_back_as_it_was_recorded(store: SqliteStore, call: Callable[..., CallRecord]) -> None:
    record = call(
        "c1",
        "denied",
        arguments={"b": [1, 2.5, None], "a": {"한글": "값"}},
        run_id="r1",
        agent="assistant",
        idempotency_key="k1",
        sources={"/b/0": "user"},
        failure=Failure(
            kind="denied", diagnostic="no scope", path="/b", user_message="권한이 없습니다", retry_after_s=1.5
        ),
    )

    await store.commit([record])

    assert await store.find_call("acme", "c1") == StoredCall(
        record=record,
        state="denied",
        failure=record.failure,
        result_digest=None,
        elapsed_ms=None,
        ended_at=record.at,
    )


async def test_a_change_moves_the_call_and_keeps_its_result(
    store: SqliteStore, call: Callable[..., CallRecord], change: Callable[..., CallChange]
) -> None:
    record, result = call("c1", "started"), {"sent": True, "cost": 1.0, "to": ["김"]}
    await store.commit([record])
    ended = record.at + timedelta(seconds=2)

    await store.commit([change("c1", result=result, has_result=True, elapsed_ms=12.5, at=ended)])

    assert await store.find_call("acme", "c1") == StoredCall(
        record=replace(record, state="succeeded"),
        state="succeeded",
        failure=None,
        result_digest=digest(result),
        elapsed_ms=12.5,
        ended_at=ended,
    )
    assert await store.result_of("acme", "c1") == result


async def test_settling_an_unknown_call_takes_its_failure_away(
    store: SqliteStore, call: Callable[..., CallRecord], change: Callable[..., CallChange]
) -> None:
    lost = Failure(kind="transport", diagnostic="connection lost")
    await store.commit([call("c1", "started"), change("c1", "started", "unknown", failure=lost, elapsed_ms=3.0)])

    await store.commit([change("c1", "unknown", "succeeded", result=1, has_result=True)])

    settled = await store.find_call("acme", "c1")
    assert settled is not None
    assert (settled.state, settled.failure, settled.elapsed_ms) == ("succeeded", None, 3.0)


@pytest.mark.parametrize("claimed", [None, "sha256:wrong"])
async def test_a_result_is_named_by_what_its_stored_text_hashes_to(
    store: SqliteStore, call: Callable[..., CallRecord], change: Callable[..., CallChange], claimed: str | None
) -> None:
    await store.commit([call("c1"), change("c1", result=["\ud800", "\0"], has_result=True, result_digest=claimed)])

    found = await store.find_call("acme", "c1")

    assert found is not None
    assert found.result_digest == digest(["\ufffd", "\ufffd"])
    assert await store.result_of("acme", "c1") == ["\ufffd", "\ufffd"]


async def test_one_result_of_two_calls_is_stored_once(
    store: SqliteStore, call: Callable[..., CallRecord], change: Callable[..., CallChange]
) -> None:
    for call_id in ("c1", "c2"):
        await store.commit([call(call_id), change(call_id, result={"x": "y" * 5000}, has_result=True)])

    assert (await store.counts())["payloads"] == 1
    assert await store.result_of("acme", "c2") == {"x": "y" * 5000}


async def test_a_call_is_found_by_its_idempotency_key_and_a_second_one_with_it_is_a_conflict(
    store: SqliteStore, call: Callable[..., CallRecord]
) -> None:
    keyed, bare = call("c1", idempotency_key="k1"), call("c9")
    await store.commit([keyed, bare])

    with pytest.raises(ConflictError, match="call 'c2' is no longer new"):
        await store.commit([call("c2", idempotency_key="k1")])
    await store.commit([call("c3", idempotency_key="k1", subject="user:lee"), call("c4"), call("c5")])
    await store.commit([call("c6", idempotency_key="k1", person="user:lee")])

    found = await store.find_keyed_call("acme", "user:kim", "user:kim", "k1")
    assert found is not None
    assert found.record == keyed
    assert await store.find_keyed_call("acme", "user:kim", "user:kim", "k2") is None
    assert await store.find_keyed_call("other", "user:kim", "user:kim", "k1") is None
    assert await store.find_call("acme", "c2") is None


async def test_a_result_of_none_is_a_result(
    store: SqliteStore, call: Callable[..., CallRecord], change: Callable[..., CallChange]
) -> None:
    await store.commit([call("c1"), change("c1", has_result=True), call("c2"), change("c2", state="failed")])

    assert await store.result_of("acme", "c1") is None
    with pytest.raises(NotFoundError, match="no result of call 'c2'"):
        await store.result_of("acme", "c2")


async def test_a_call_id_that_exists_is_a_conflict_and_nothing_of_the_unit_is_kept(
    store: SqliteStore,
    run_id: str,
    call: Callable[..., CallRecord],
    entry: Callable[..., JournalEntry],
    fact: Callable[..., AuditEvent],
) -> None:
    await store.commit([call("c1")])
    before = await store.counts()

    with pytest.raises(ConflictError, match="call 'c1' is no longer new"):
        await store.commit([entry(run_id), fact(), call("c0"), call("c1")])

    assert await store.counts() == before
    assert await store.append([entry(run_id)]) == (2,)


async def test_a_change_from_a_past_state_is_a_conflict_that_names_the_call(
    store: SqliteStore, call: Callable[..., CallRecord], change: Callable[..., CallChange]
) -> None:
    await store.commit([call("c1"), call("c2"), change("c2")])

    with pytest.raises(ConflictError, match="call 'c2' is no longer started"):
        await store.commit([change("c1", result=1, has_result=True), change("c2", state="failed")])

    assert [stored.state for stored in [await store.find_call("acme", "c1")] if stored] == ["started"]
    assert (await store.counts())["payloads"] == 0


async def test_events_of_a_run_that_is_not_recorded_are_refused(
    store: SqliteStore, entry: Callable[..., JournalEntry]
) -> None:
    with pytest.raises(StoreError, match="run 'nowhere' refers to a record that this tenant does not have"):
        await store.commit([entry("nowhere")])


async def test_journal_numbers_come_back_in_the_order_of_the_entries(
    store: SqliteStore, new_run: Callable[..., Any], entry: Callable[..., JournalEntry], fact: Callable[..., AuditEvent]
) -> None:
    await store.create_run(new_run("r1"), entry("r1"))
    await store.create_run(new_run("r2"), entry("r2"))

    numbers = await store.commit([entry("r1"), fact(), entry("r2"), entry("r1")])

    assert numbers == (2, 2, 3)


async def test_an_approval_request_is_read_back_as_it_was_recorded(
    store: SqliteStore, call: Callable[..., CallRecord], approval: ApprovalRecord
) -> None:
    waiting = call("c1", "waiting", arguments=approval.arguments, run_id="r1", approval_id="a1")

    await store.commit([approval, waiting])

    assert await store.approvals_of("acme", "r1") == [
        StoredApproval(record=approval, state="pending", version=0, votes=(), detail="", closed_at=None)
    ]
    assert [stored.record for stored in await store.calls_of("acme", "r1")] == [waiting]


async def test_an_approval_request_needs_its_call_and_is_made_once(
    store: SqliteStore, call: Callable[..., CallRecord], approval: ApprovalRecord
) -> None:
    with pytest.raises(StoreError, match="approval request 'a1' refers to a record"):
        await store.commit([approval])
    await store.commit([call("c1", "waiting"), approval])

    with pytest.raises(ConflictError, match="approval request 'a1' is no longer new"):
        await store.commit([approval])


async def test_one_tenant_never_sees_what_another_has_recorded(
    store: SqliteStore,
    run_id: str,
    call: Callable[..., CallRecord],
    change: Callable[..., CallChange],
    fact: Callable[..., AuditEvent],
    entry: Callable[..., JournalEntry],
    new_run: Callable[..., Any],
    approval: ApprovalRecord,
) -> None:
    await store.commit([call("c1", run_id=run_id), approval, fact()])
    await store.commit([change("c1", result="secret", has_result=True)])

    assert await store.find_call("other", "c1") is None
    assert await store.calls_of("other", run_id) == []
    assert await store.approvals_of("other", run_id) == []
    assert await store.audit_of("other", run_id) == []
    assert await store.events("other", run_id) == []
    assert await store.runs("other") == []
    for look in (store.run("other", run_id), store.result_of("other", "c1")):
        with pytest.raises(NotFoundError):
            await look
    for intrusion in ([entry(run_id, tenant="other")], [replace(approval, tenant="other", approval_id="a2")]):
        with pytest.raises(StoreError):
            await store.commit(intrusion)
    with pytest.raises(ConflictError):
        await store.commit([change("c1", "succeeded", "failed", tenant="other")])

    await store.create_run(new_run(run_id, tenant="other"), entry(run_id, tenant="other"))
    await store.commit([call("c1", "requested", tenant="other")])
    mine, theirs = await store.find_call("acme", "c1"), await store.find_call("other", "c1")
    assert mine is not None
    assert theirs is not None
    assert (mine.state, theirs.state) == ("succeeded", "requested")


async def test_every_stored_text_is_scrubbed(
    store: SqliteStore,
    call: Callable[..., CallRecord],
    change: Callable[..., CallChange],
    entry: Callable[..., JournalEntry],
    fact: Callable[..., AuditEvent],
    new_run: Callable[..., Any],
    approval: ApprovalRecord,
    rows: Rows,
) -> None:
    bad, good = "a\0b\ud800c", "a\ufffdb\ufffdc"
    call_fields = dict.fromkeys(
        ["tool", "definition_hash", "run_id", "agent", "idempotency_key", "approval_id", "subject", "person"], bad
    )
    failure = Failure(kind="internal", diagnostic=bad, path=bad, user_message=bad)

    await store.create_run(
        new_run(bad, tenant=bad, goal=bad, agent=bad, model=bad), entry(bad, tenant=bad, type=bad, x=bad)
    )
    await store.commit(
        [
            call(bad, tenant=bad, arguments={bad: bad}, sources={bad: bad}, failure=failure, **call_fields),
            change(bad, tenant=bad, result={bad: bad}, has_result=True, failure=failure),
            fact(bad, tenant=bad, run_id=bad, x=bad),
            replace(approval, tenant=bad, approval_id=bad, call_id=bad, run_id=bad, consequences=bad, reasons=(bad,)),
        ]
    )

    tables = [f"SELECT * FROM {table}" for table in ("runs", "events", "calls", "payloads", "audit", "approvals")]
    texts = [value for select in tables for row in rows(select) for value in row if isinstance(value, str)]
    assert not [text for text in texts if "\0" in text or "\\u0000" in text or "\\ud800" in text]
    assert sum(good in text for text in texts) >= 25
    assert (await store.run(bad, bad)).goal == good
    assert await store.result_of(bad, bad) == {good: good}


async def test_text_that_only_looks_like_an_escaped_nul_stays(
    store: SqliteStore, run_id: str, entry: Callable[..., JournalEntry]
) -> None:
    data = {"regex": "\\u0000", "path": "C:\\u0000"}

    await store.append([entry(run_id, **data)])

    assert [event.data for event in await store.events("acme", run_id, after=1)] == [data]


async def test_integers_of_any_size_stay_exact(
    store: SqliteStore,
    run_id: str,
    call: Callable[..., CallRecord],
    change: Callable[..., CallChange],
    entry: Callable[..., JournalEntry],
) -> None:
    huge = 10**40 + 1

    await store.commit([call("c1"), change("c1", result=huge, has_result=True), entry(run_id, n=-huge)])

    assert await store.result_of("acme", "c1") == huge
    assert (await store.events("acme", run_id, after=1))[0].data == {"n": -huge}


async def test_a_large_result_is_read_back_whole(
    store: SqliteStore, call: Callable[..., CallRecord], change: Callable[..., CallChange]
) -> None:
    result = [{"n": n, "text": "줄 " * 50} for n in range(5000)]

    await store.commit([call("c1"), change("c1", result=result, has_result=True)])

    assert await store.result_of("acme", "c1") == result


async def test_a_value_that_can_not_be_stored_fails_its_unit_only(
    store: SqliteStore, run_id: str, call: Callable[..., CallRecord], change: Callable[..., CallChange]
) -> None:
    await store.commit([call("c1"), call("c2")])

    for impossible in (
        change("c1", result=float("nan"), has_result=True),
        change("c1", at=datetime(2026, 1, 1)),
        change("c1", elapsed_ms=10**400),
    ):
        with pytest.raises(StoreError, match="could not write the record"):
            await store.commit([change("c2", "started", "failed"), impossible])

    assert [stored.state for stored in [await store.find_call("acme", "c2")] if stored] == ["started"]


async def test_the_audit_record_of_a_run_is_given_in_the_order_of_the_chain(
    store: SqliteStore, fact: Callable[..., AuditEvent], audit_is_whole: Callable[[], int]
) -> None:
    await store.commit([fact("c1", n=1), fact("c9", run_id=None), fact("c2", run_id="")])
    await store.commit([fact("c3", n=2)])

    found = await store.audit_of("acme", "r1")

    assert [(row.seq, row.subject, row.data) for row in found] == [(1, "c1", '{"n":1}'), (4, "c3", '{"n":2}')]
    assert audit_is_whole() == 4
