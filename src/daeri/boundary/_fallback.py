"""Another tool, or a declared answer, in the place of a tool that can't be reached."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from daeri.errors import ConflictError, DefinitionError, ErrorKind, Failure, StoreError
from daeri.text import Json, JsonObject
from daeri.tools import StaticAnswer, Tool, ToolRegistry

from ._attempts import Carried
from ._check import argument_failure, checked_result
from ._means import Means
from ._recording import Recording
from ._records import CallOutcome, CallRequest, Decision
from ._writing import audit_of_decision, journal

STATIC_ANSWER = "static answer"
"""What `CallOutcome.fallback` says when the answer came from no tool; no tool can have this name."""

_UNREACHABLE: frozenset[ErrorKind] = frozenset({"transport", "timeout", "circuit_open", "unavailable"})

CarryOut = Callable[[Means, Recording, Tool, JsonObject, Decision], Awaitable[CallOutcome]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Substitute:
    """A result from elsewhere, fit for the contract of the tool that was asked for."""

    value: Json
    source: str


def check_fallbacks(registry: ToolRegistry) -> None:
    """Look at start whether every declared fallback can ever be used.

    Raises:
        DefinitionError: one that is not there, not read-only or the tool itself, or an answer that breaks the contract.
    """
    for tool in registry.tools():
        declared = tool.resilience.fallback
        problem = None
        if isinstance(declared, StaticAnswer):
            broken = checked_result(tool, declared.value, registry.validators)
            problem = broken.diagnostic.rstrip(".") if isinstance(broken, Failure) else None
        elif declared is not None:
            names = {other.name: other for other in registry.tools()}
            problem = _unusable(tool, names.get(declared))
        if problem:
            raise DefinitionError(f"tool {tool.name!r}, its fallback", problem, "Name another one, or none.")


async def substitute(
    means: Means,
    recording: Recording,
    tool: Tool,
    arguments: JsonObject,
    carried: Carried,
    failure: Failure,
    *,
    carry_out: CarryOut,
) -> Substitute | Failure:
    """What the tool's fallback gives; the failure that the call had, if there is none or it can't be used.

    Never for a call that may have had its effect after all: that must not be covered by anything.
    """
    declared = tool.resilience.fallback
    if declared is None or carried.in_doubt or failure.kind not in _UNREACHABLE:
        return failure
    given: Substitute | str
    if isinstance(declared, StaticAnswer):
        given = Substitute(value=declared.value, source=STATIC_ANSWER)
    else:
        given = await _from_tool(means, recording, tool, arguments, carry_out)
    if isinstance(given, Substitute):
        value = checked_result(tool, given.value, means.registry.validators)
        if not isinstance(value, Failure):
            return Substitute(value=value, source=given.source)
        given = f"{given.source} gave no result that fits: {value.diagnostic}"
    return replace(failure, diagnostic=f"{failure.diagnostic}; its fallback did not help: {given}")


async def _from_tool(
    means: Means, recording: Recording, tool: Tool, arguments: JsonObject, carry_out: CarryOut
) -> Substitute | str:
    """The other tool's result, or why there is none."""
    asked, name = recording.request, str(tool.resilience.fallback)
    # not to be guessed: nobody can take the id before
    call_id = f"{asked.call_id}.fallback.{secrets.token_hex(8)}"
    request = replace(asked, tool=name, call_id=call_id, idempotency_key=None, approval_id=None)
    other = means.resolve(request)
    if isinstance(other, Failure):
        return other.diagnostic
    if problem := _unusable(tool, other):
        return problem
    if failure := argument_failure(other, arguments, means.registry.validators):
        return failure.diagnostic
    question = means.question(request, other, arguments)
    decision = means.policy.decide(question)
    if decision.verdict != "allow":
        # nobody is asked to approve what nobody asked for
        return f"{name} is not allowed here ({decision.verdict}): {'; '.join(decision.reasons)}"
    if refusal := means.limits.spend(question):
        return refusal.failure.diagnostic
    with means.limits.slot(question) as refusal:
        if refusal:
            return refusal.failure.diagnostic
        try:
            outcome = await _own_call(means, recording, request, other, arguments, decision, carry_out)
        except (ConflictError, StoreError) as problem:
            return f"the call of {name} could not be recorded: {problem}"
    return Substitute(value=outcome.value, source=name) if outcome.failure is None else outcome.failure.diagnostic


async def _own_call(
    means: Means,
    recording: Recording,
    request: CallRequest,
    tool: Tool,
    arguments: JsonObject,
    decision: Decision,
    carry_out: CarryOut,
) -> CallOutcome:
    """The call of the other tool: one of its own, with its own start and end on record, and without a fallback."""
    own = Recording(means, request, recording.observer)
    record = own.first("started", tool, decision)
    entries = [
        *journal(request, "requested", record.at, arguments=record.arguments),
        *journal(request, "started", record.at, decision=decision),
    ]
    await own.begin([record, *entries, audit_of_decision(request, record)], starts=True)
    last_resort = replace(tool, resilience=replace(tool.resilience, fallback=None))
    return await carry_out(means, own, last_resort, arguments, decision)


def _unusable(tool: Tool, other: Tool | None) -> str | None:
    if other is None:
        return f"there is no tool {tool.resilience.fallback!r}"
    if other.name == tool.name:
        return f"{other.name} is the tool itself"
    if not other.annotations.read_only:
        return f"{other.name} is not read-only"
    return None
