"""What another process does with a request for approval: `python worker.py WHAT PATH APPROVAL [NUMBER]`."""

import asyncio
import sys

from daeri.boundary import Boundary, CallRequest
from daeri.errors import ConflictError, RefusedError
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.tools import PythonTools, ToolRegistry, tool

TENANT = "acme"


@tool(risk="high", scopes=["pay:write"], tags=["money"], consequences="The money leaves the account.")
async def pay(amount: int) -> str:
    """Pay."""
    print("ran", amount, flush=True)
    return f"paid {amount}"


@tool(name="pay", risk="high", scopes=["pay:write"], tags=["money"], consequences="The money leaves the account.")
async def pay_for_ever(amount: int) -> str:
    """Pay."""
    print("ran", amount, flush=True)
    await asyncio.Event().wait()
    return "paid"


async def _boundary(store: SqliteStore, *, for_ever: bool = False) -> Boundary:
    registry = ToolRegistry()
    await registry.add(PythonTools("own", [pay_for_ever if for_ever else pay]))
    return Boundary(registry=registry, store=store)


async def ask(path: str, amount: str) -> None:
    """Ask for a payment; prints the id of the request for approval."""
    kim = Principal(tenant=TENANT, subject="user:kim", scopes=frozenset({"pay:*"}))
    async with await SqliteStore.open(path) as store:
        boundary = await _boundary(store)
        request = CallRequest(principal=kim, tool="pay", arguments={"amount": int(amount)}, call_id="c1", origin="api")
        print((await boundary.call(request)).approval_id, flush=True)


async def decide(path: str, approval_id: str, number: str, name: str) -> None:
    """So many approvers at once, once the test says go; prints one line for each who got through."""
    async with await SqliteStore.open(path) as store:
        boundary = await _boundary(store)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

        async def attempt(turn: int) -> None:
            who = Principal(
                tenant=TENANT,
                subject=f"user:{name}-{turn}",
                scopes=frozenset({"approve:*"}),
                roles=frozenset({"approver"}),
            )
            try:
                if turn % 2:
                    await boundary.approvals.reject(approval_id, who, "no")
                else:
                    await boundary.approvals.approve(approval_id, who)
            except (RefusedError, ConflictError):
                return
            print("decided", who.subject, flush=True)

        await asyncio.gather(*(attempt(turn) for turn in range(int(number))))


async def use(path: str, approval_id: str, number: str) -> None:
    """So many attempts to use it, once the test says go; the tool says when it runs."""
    async with await SqliteStore.open(path) as store:
        boundary = await _boundary(store)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.gather(*(boundary.approvals.execute(TENANT, approval_id) for _ in range(int(number))))


async def use_and_never_return(path: str, approval_id: str) -> None:
    """Use it with a tool that never ends, until the process is killed."""
    async with await SqliteStore.open(path) as store:
        boundary = await _boundary(store, for_ever=True)
        await boundary.approvals.execute(TENANT, approval_id)


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
