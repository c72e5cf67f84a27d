"""Of any number of attempts to decide about a request or to use it exactly one takes effect, also across processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from daeri.boundary import StoredApproval
from daeri.errors import ConflictError, RefusedError

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office, OpenOffice

WORKER = Path(__file__).with_name("worker.py")
_ATTEMPTS = 1_000


async def test_a_thousand_attempts_to_decide_make_one_decision(office: Office) -> None:
    approval_id = await office.waiting()

    async def attempt(number: int) -> StoredApproval | None:
        who = replace(office.people.lee, subject=f"user:{number}")
        try:
            if number % 2:
                return await office.desk.reject(approval_id, who, "no")
            return await office.desk.approve(approval_id, who)
        except (RefusedError, ConflictError):
            return None

    decided = [one for one in await asyncio.gather(*(attempt(number) for number in range(_ATTEMPTS))) if one]

    assert len(decided) == 1
    assert len((await office.show(approval_id)).votes) == 1
    assert sum(office.audit().count(f"approval.{state}") for state in ("approved", "rejected")) == 1


async def test_a_thousand_approvers_of_a_critical_call_are_two_votes(office: Office) -> None:
    approval_id = await office.waiting("erase")

    async def attempt(number: int) -> bool:
        try:
            await office.desk.approve(approval_id, replace(office.people.lee, subject=f"user:{number}"))
        except (RefusedError, ConflictError):
            return False
        return True

    assert sum(await asyncio.gather(*(attempt(number) for number in range(_ATTEMPTS)))) == 2
    assert len((await office.show(approval_id)).votes) == 2


async def test_a_thousand_attempts_to_use_it_run_it_once(office: Office, open_office: OpenOffice) -> None:
    approval_id = await office.approved()
    other = await open_office(path=office.path)

    outcomes = await asyncio.gather(
        *((office if number % 2 else other).execute(approval_id) for number in range(_ATTEMPTS))
    )

    assert office.ran + other.ran == [5]
    assert {outcome.state for outcome in outcomes} <= {"waiting", "started", "succeeded"}
    assert office.states() == [("consumed", "succeeded")]
    assert office.audit().count("call.started") == 1


async def test_withdrawing_and_using_at_once_is_one_of_the_two(office: Office) -> None:
    for amount in range(20):
        office.ran.clear()
        approval_id = await office.approved(arguments={"amount": amount})

        await asyncio.gather(
            office.execute(approval_id),
            office.desk.withdraw(approval_id, office.people.kim),
            return_exceptions=True,
        )

        state = (await office.show(approval_id)).state
        assert (state, office.ran) in [("withdrawn", []), ("consumed", [amount])]


def _start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORKER), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _race(*commands: tuple[str, ...]) -> list[str]:
    """Start all, let them go at once, and give what they said."""
    processes = [_start(*command) for command in commands]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    return [line for text in said for line in text.splitlines()]


def _asked(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(WORKER), "ask", str(path), "5"], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


async def test_two_processes_that_decide_at_once_make_one_decision(tmp_path: Path, open_office: OpenOffice) -> None:
    path = tmp_path / "daeri.db"
    approval_id = _asked(path)

    said = await asyncio.to_thread(
        _race, ("decide", str(path), approval_id, "300", "a"), ("decide", str(path), approval_id, "300", "b")
    )

    office = await open_office(path=path)
    votes = [row["approver"] for row in office.rows("SELECT approver FROM approval_votes")]
    assert said == [f"decided {votes[0]}"]


async def test_two_processes_that_use_it_at_once_run_it_once(tmp_path: Path, open_office: OpenOffice) -> None:
    path = tmp_path / "daeri.db"
    approval_id = _asked(path)
    office = await open_office(path=path)
    office.now = office.now.replace(year=2020)  # the worker asked by the real clock
    await office.desk.approve(approval_id, office.people.lee)

    said = await asyncio.to_thread(
        _race, ("use", str(path), approval_id, "500"), ("use", str(path), approval_id, "500")
    )

    assert said == ["ran 5"]
    assert office.states() == [("consumed", "succeeded")]


async def test_a_process_that_dies_while_the_call_runs_leaves_it_unknown_and_nobody_runs_it_again(
    tmp_path: Path, open_office: OpenOffice
) -> None:
    path = tmp_path / "daeri.db"
    approval_id = _asked(path)
    office = await open_office(path=path)
    office.now = office.now.replace(year=2020)
    await office.desk.approve(approval_id, office.people.lee)

    with _start("use_and_never_return", str(path), approval_id) as process:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "ran 5\n"
        process.kill()
    outcome = await office.execute(approval_id)

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("started", "unavailable")
    assert office.states() == [("consumed", "started")]
    assert office.ran == []
