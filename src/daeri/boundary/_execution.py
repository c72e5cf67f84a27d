"""The second half of a call's way, once its start is on record: carry out, check, record."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from daeri.errors import Failure
from daeri.text import Json, JsonObject, digest, scrub_text
from daeri.tools import Tool, ToolContext

from ._attempts import Carried
from ._check import checked_result
from ._fallback import Substitute, substitute
from ._means import Means
from ._recording import Recording
from ._records import CallOutcome, CallRequest, CallState, Decision, Effort


async def carry_out(
    means: Means, recording: Recording, tool: Tool, arguments: JsonObject, decision: Decision
) -> CallOutcome:
    """Carry a call out whose start is on record, and write down how it ended. Nothing else reaches the gateway."""
    began = time.perf_counter()
    provider, context = means.registry.provider_of(tool.name), _context(recording, tool)
    carriage = means.gateway.carriage(provider, tool, arguments, context, on_attempt=recording.attempted)
    try:
        carried = await carriage.run()
        result = _checked(means, tool, carried)
        if isinstance(result, Failure):
            result = await substitute(means, recording, tool, arguments, carried, result, carry_out=carry_out)
    except asyncio.CancelledError:
        await _record_cancellation(recording, began, in_doubt=carriage.in_doubt)
        raise
    effort = Effort(attempts=carried.attempts, last_attempt_ms=carried.last_ms)
    if isinstance(result, Substitute):
        effort, result = replace(effort, fallback=result.source), result.value
    failure = result if isinstance(result, Failure) else None
    return await recording.end(
        _state_after(failure, in_doubt=carried.in_doubt),
        decision,
        failure=failure,
        value=None if isinstance(result, Failure) else result,
        elapsed_ms=_milliseconds_since(began),
        effort=effort,
    )


def _checked(means: Means, tool: Tool, carried: Carried) -> Json | Failure:
    if isinstance(carried.result, Failure):
        return carried.result
    return checked_result(tool, carried.result, means.registry.validators)


def _context(recording: Recording, tool: Tool) -> ToolContext:
    request, observer = recording.request, recording.observer
    loop = asyncio.get_running_loop()

    def report(text: str) -> None:
        # a thread may outlive the loop; what it does must not fail for want of a listener
        if observer is not None and not loop.is_closed():
            loop.call_soon_threadsafe(observer.tool_progress, request.call_id, tool.name, scrub_text(text))

    return ToolContext(
        call_id=request.call_id,
        principal=request.principal,
        locale=request.locale,
        report=report,
        run_id=request.run_id,
        idempotency_key=_key_for_tool(request),
    )


def _key_for_tool(request: CallRequest) -> str:
    """One key per call, whoever chose the same words elsewhere: beyond the boundary all callers look alike."""
    who, chosen = request.principal, request.idempotency_key
    return digest(
        {
            "tenant": who.tenant,
            "person": who.person.subject,
            "subject": who.subject,
            "tool": request.tool,
            **({"call_id": request.call_id} if chosen is None else {"idempotency_key": chosen}),
        }
    )


async def _record_cancellation(recording: Recording, began: float, *, in_doubt: bool) -> None:
    detail = "cancelled while it ran; whether it took effect is not known" if in_doubt else "cancelled"
    failure = Failure(kind="cancelled", diagnostic=detail)
    state: CallState = "unknown" if in_doubt else "cancelled"
    await recording.end_in_spite_of_cancel(state, failure, _milliseconds_since(began))


def _state_after(failure: Failure | None, *, in_doubt: bool) -> CallState:
    if failure is None:
        return "succeeded"
    return "unknown" if in_doubt else "failed"


def _milliseconds_since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
