"""Every attack of the corpus, through a real boundary, desk, store and registry; the head of the corpus explains it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from daeri.boundary import CallOutcome, CallRequest, PolicyRule, Selector, StoredApproval
from daeri.errors import DaeriError, RefusedError
from daeri.identity import Principal
from daeri.runtime import AuditKeeper, verify_audit
from daeri.text import Json, JsonObject
from daeri.tools import Tool, ToolContext

if TYPE_CHECKING:
    from tests.boundary.attacks.conftest import Case, Stage

Step: TypeAlias = Mapping[str, Any]
Seen: TypeAlias = dict[str, Any]
People: TypeAlias = Mapping[str, Principal]

_numbers = count(1)


async def test_the_attack_ends_as_it_must(case: Case, stage: Stage, people: People) -> None:
    seen: Seen = {}
    for number, step in enumerate(case.steps, 1):
        seen = await _perform(stage, people, step)
        where = f"step {number}: {dict(step)}"
        _check(step.get("gives", {}), seen, where)
        if number < len(case.steps):
            assert "gives" in step or "error" not in seen, f"{where}\n{seen}"
    _check(case.must, seen, f"the last of {len(case.steps)} steps")

    assert stage.ran == case.ran
    _check_audit(case, stage)
    assert not [text for text in case.not_in_answers if text in "\n".join(stage.told)]
    assert not [text for text in case.not_in_audit if text in str(stage.rows("SELECT * FROM audit"))]
    assert not [text for text in case.not_in_outbox if text in str(stage.rows("SELECT * FROM outbox"))]
    assert not [text for text in case.not_in_outbox if not stage.rows("SELECT * FROM outbox")], "nothing was told"


async def _perform(stage: Stage, people: People, step: Step) -> Seen:
    (verb,) = step.keys() & _VERBS.keys()
    unknown = step.keys() - {verb, "as", "gives", "locked"} - _VERBS[verb][1]
    assert not unknown, f"{verb!r} knows no {unknown}"
    who = people[step.get("as", "kim")]
    who = replace(who, scopes=frozenset(step["scopes"])) if "scopes" in step else who
    try:
        with stage.locked() if step.get("locked") else nullcontext():
            seen = await _VERBS[verb][0](stage, who, step)
    except DaeriError as error:
        rules = [error.rule] if isinstance(error, RefusedError) else []
        seen = {"error": type(error).__name__, "says": str(error), "rule": rules}
    stage.told.append(str(seen))
    return seen


def _check(expected: Mapping[str, Any], seen: Seen, where: str) -> None:
    for name, value in expected.items():
        found = seen.get(name)
        fits = found is not None and value in found if name in ("rule", "says") else found == value
        assert fits, f"{where}\n{name} must be {value!r}: {seen}"


def _check_audit(case: Case, stage: Stage) -> None:
    """Every promised event is there, in this order, and nothing ran without a call whose start is on record."""
    rows = stage.rows("SELECT * FROM audit ORDER BY seq")
    told = [f"{row['kind']} by {row['actor']}: {row['subject']} {row['data']}" for row in rows]
    left = iter(told)
    for promised in case.audit:
        head, _, detail = promised.partition(": ")
        found = any(line.startswith(f"{head}: ") and detail in line for line in left)
        assert found, "\n".join([f"no {promised!r} in its place:", *told])
    assert len(case.ran) <= len(stage.rows("SELECT 1 FROM calls WHERE started_at IS NOT NULL"))


# What can be done on the stage.


async def _call(stage: Stage, who: Principal, step: Step) -> Seen:
    if step.get("cancelled"):
        return await _call_and_cancel(stage, _request(stage, who, step))
    if "times" in step:
        outcomes = await asyncio.gather(
            *(stage.boundary.call(_request(stage, who, step)) for _ in range(step["times"]))
        )
    else:
        outcomes = [await stage.boundary.call(_request(stage, who, step)) for _ in range(step.get("in_turn", 1))]
    last = outcomes[-1]
    if "save" in step:
        stage.saved[step["save"]] = last.approval_id or last.call_id
    return {
        **_outcome(stage, last),
        "states": dict(Counter(outcome.state for outcome in outcomes)),
        "kinds": dict(Counter(outcome.failure.kind for outcome in outcomes if outcome.failure)),
        "requests": len({outcome.approval_id for outcome in outcomes}),
    }


async def _call_and_cancel(stage: Stage, request: CallRequest) -> Seen:
    task = asyncio.create_task(stage.boundary.call(request))
    await stage.entered.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return _outcome(stage, await stage.boundary.outcome_of(request.principal.tenant, request.call_id))


def _request(stage: Stage, who: Principal, step: Step) -> CallRequest:
    allowed = step.get("allowed")
    approval = step.get("approval")
    return CallRequest(
        principal=who,
        tool=step["call"],
        arguments=_arguments(step),
        call_id=step.get("id") or f"c{next(_numbers)}",
        origin="api",
        agent=who.subject.removeprefix("agent:") if who.kind == "agent" else None,
        allowed_tools=None if allowed is None else frozenset(allowed),
        idempotency_key=step.get("key"),
        approval_id=approval and stage.saved.get(approval, approval),
    )


def _arguments(step: Step) -> Json:
    arguments = step.get("args", {})
    for name, length in step.get("fill", {}).items():
        arguments = {**arguments, name: "x" * length}
    for name, depth in step.get("nest", {}).items():
        nested: Json = "x"
        for _ in range(depth):
            nested = [nested]
        arguments = {**arguments, name: nested}
    return arguments


def _outcome(stage: Stage, outcome: CallOutcome) -> Seen:
    failure, decision = outcome.failure, outcome.decision
    known = {approval_id: name for name, approval_id in stage.saved.items()}
    return {
        "state": outcome.state,
        "kind": failure and failure.kind,
        "path": failure and failure.path,
        "says": (failure and failure.diagnostic) or "",
        "people": failure and failure.user_message,
        "rule": [] if decision is None else list(decision.rules),
        "value": outcome.value,
        "request": known.get(outcome.approval_id or "", "new"),
    }


async def _approve(stage: Stage, who: Principal, step: Step) -> Seen:
    return _approval(await stage.boundary.approvals.approve(_saved(stage, step, "approve"), who))


async def _reject(stage: Stage, who: Principal, step: Step) -> Seen:
    reason = step.get("reason", "")
    return _approval(await stage.boundary.approvals.reject(_saved(stage, step, "reject"), who, reason))


async def _withdraw(stage: Stage, who: Principal, step: Step) -> Seen:
    return _approval(await stage.boundary.approvals.withdraw(_saved(stage, step, "withdraw"), who))


async def _show(stage: Stage, who: Principal, step: Step) -> Seen:
    return _approval(await stage.boundary.approvals.show(who, _saved(stage, step, "show")))


async def _list(stage: Stage, who: Principal, step: Step) -> Seen:
    return {"requests": len(await stage.boundary.approvals.list(who))}


async def _execute(stage: Stage, who: Principal, step: Step) -> Seen:
    approval_id, times = _saved(stage, step, "execute"), step.get("times", 1)
    outcomes = await asyncio.gather(*(stage.boundary.approvals.execute(who.tenant, approval_id) for _ in range(times)))
    approval = await stage.boundary.approvals.show(replace(who, roles=frozenset({"auditor"})), approval_id)
    final = await stage.boundary.outcome_of(who.tenant, outcomes[0].call_id)
    return {**_outcome(stage, final), "approval": approval.state}


async def _outcome_of(stage: Stage, who: Principal, step: Step) -> Seen:
    return _outcome(stage, await stage.boundary.outcome_of(who.tenant, step["outcome"]))


async def _result_of(stage: Stage, who: Principal, step: Step) -> Seen:
    return {"value": await stage.boundary.result_of(who.tenant, step["result"])}


def _approval(approval: StoredApproval) -> Seen:
    return {"state": approval.state, "votes": len(approval.votes), "says": approval.detail, **_shown(approval)}


def _shown(approval: StoredApproval) -> Seen:
    return {"arguments": asdict(approval.record)["arguments"]}


def _saved(stage: Stage, step: Step, verb: str) -> str:
    name: str = step[verb]
    return stage.saved.get(name, name)


async def _pass_hours(stage: Stage, who: Principal, step: Step) -> Seen:
    stage.now += timedelta(hours=step["hours"])
    return {}


async def _redefine(stage: Stage, who: Principal, step: Step) -> Seen:
    fields = {name: value for name, value in step.items() if name in _REDEFINABLE}
    if "scopes" in fields:
        fields["scopes"] = frozenset(fields["scopes"])
    stage.changes[step["redefine"]] = fields
    await stage.reopen()
    return {}


async def _remove(stage: Stage, who: Principal, step: Step) -> Seen:
    stage.changes[step["remove"]] = None
    await stage.reopen()
    return {}


async def _disable(stage: Stage, who: Principal, step: Step) -> Seen:
    stage.disabled.add(step["disable"])
    await stage.reopen()
    return {}


async def _change_policy(stage: Stage, who: Principal, step: Step) -> Seen:
    stage.policy.rules = [
        PolicyRule(
            name=f"r{number}", selector=Selector(tool=rule["tool"]), **{k: v for k, v in rule.items() if k != "tool"}
        )
        for number, rule in enumerate(step["policy"])
    ]
    return {}


async def _change_allow_list(stage: Stage, who: Principal, step: Step) -> Seen:
    stage.may_use |= {agent: frozenset(names) for agent, names in step["may_use"].items()}
    return {}


class _Stranger:
    """A source of tools that nobody knows yet."""

    def __init__(self, stage: Stage, name: str, tools: Sequence[Tool]) -> None:
        self.name = name
        self._stage = stage
        self._tools = tools

    async def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        self._stage.ran.append(f"{self.name}'s {tool}")
        return "done"


async def _offer(stage: Stage, who: Principal, step: Step) -> Seen:
    name, depth = step["by"], step.get("deep", 0)
    schema: JsonObject = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    source = step.get("claims", name)
    tools = [Tool(name=one, description="New.", input_schema=schema, source=source) for one in step["offer"]]
    await stage.registry.add(_Stranger(stage, name, tools))
    return {}


async def _tamper(stage: Stage, who: Principal, step: Step) -> Seen:
    stage.tamper(step["tamper"])
    return {}


async def _sign(stage: Stage, who: Principal, step: Step) -> Seen:
    await AuditKeeper(stage.store, stage.home, tenant="acme", actor="os:owner").checkpoint()
    return {}


async def _verify(stage: Stage, who: Principal, step: Step) -> Seen:
    report = await verify_audit(stage.store, stage.home)
    return {"faults": sorted({fault.kind for fault in report.faults}), "says": str(report.faults)}


_REDEFINABLE = {"description", "risk", "scopes", "consequences", "input_schema", "source"}
_VERBS: Mapping[str, tuple[Callable[[Stage, Principal, Step], Awaitable[Seen]], set[str]]] = {
    "call": (
        _call,
        {"args", "fill", "nest", "id", "key", "approval", "allowed", "scopes", "save", "times", "in_turn", "cancelled"},
    ),
    "approve": (_approve, set()),
    "reject": (_reject, {"reason"}),
    "withdraw": (_withdraw, set()),
    "show": (_show, set()),
    "list": (_list, set()),
    "execute": (_execute, {"times"}),
    "outcome": (_outcome_of, set()),
    "result": (_result_of, set()),
    "hours": (_pass_hours, set()),
    "redefine": (_redefine, _REDEFINABLE),
    "remove": (_remove, set()),
    "disable": (_disable, set()),
    "policy": (_change_policy, set()),
    "may_use": (_change_allow_list, set()),
    "offer": (_offer, {"by", "claims", "deep"}),
    "tamper": (_tamper, set()),
    "sign": (_sign, set()),
    "verify": (_verify, set()),
}
"""Verb to what does it and what else a step with it may say."""
