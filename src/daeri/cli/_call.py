"""`daeri tools call`: one call through the boundary.

The result goes to stdout, all else to stderr. `--json` prints one object instead: `{"call_id", "tool", "state",
"result", "failure", "decision", "approval_id", "elapsed_ms", "fallback"}`. `fallback` names what answered in the place
of the tool, or is null. The `diagnostic` of a failure may hold the words of an exception: without the role operator,
auditor or admin it is null, but for calls that were turned down before any tool ran.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from daeri.boundary import STATIC_ANSWER, CallOutcome, CallRequest
from daeri.runtime import Daeri
from daeri.settings import Settings
from daeri.text import Json, Locale, message
from daeri.tools import JsonTextError, parse_json

from ._exit import UsageError, exit_code_of_call
from ._lines import for_people, own_words, printable
from ._opening import acting_principal, locale_of, open_daeri, read_settings
from ._shapes import json_text, outcome_object, print_json
from ._signals import stopped_like_ctrl_c

_LOOK_AGAIN_S = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOrder:
    """What the command line asks for."""

    tool: str
    args: str
    """JSON; `-` stands for standard input."""
    tools: list[str]
    as_name: str | None
    idempotency_key: str | None
    wait_s: float
    lang: Locale | None


def call_tool(order: CallOrder, *, as_json: bool) -> int:
    """Send a call through the boundary and show how it stands; gives the exit code.

    Raises:
        UsageError: the arguments are no JSON.
        NotFoundError: there is no such principal.
    """
    settings = read_settings(order.lang)
    arguments = _arguments(order.args, locale_of(settings))
    with stopped_like_ctrl_c():
        outcome = asyncio.run(_call(settings, order, arguments))
    if as_json:
        print_json(outcome_object(outcome, acting_principal(settings, order.as_name)))
    else:
        show_outcome(outcome, settings)
    return exit_code_of_call(outcome)


def show_outcome(outcome: CallOutcome, settings: Settings) -> None:
    """Print the result of a call, and say on stderr why there is none or who gave it instead of the tool."""
    if outcome.state == "succeeded":
        value = outcome.value
        print(printable(value if isinstance(value, str) else json_text(value)), flush=True)
    for line in _lines(outcome, locale_of(settings), debug=settings.debug):
        print(printable(line), file=sys.stderr, flush=True)


def _lines(outcome: CallOutcome, locale: Locale, *, debug: bool) -> list[str]:
    if outcome.state == "succeeded":
        return _fallback_lines(outcome, locale)
    if outcome.state == "waiting":
        lines = [message("approvals.call.waiting", locale, approval=outcome.approval_id)]
        lines += [f"  {reason}" for reason in (outcome.decision.reasons if outcome.decision else ())]
        return [*lines, message("approvals.call.how", locale, approval=outcome.approval_id)]
    if outcome.state in ("unknown", "started"):
        return [message("cli.outcome.unknown", locale, call=outcome.call_id)]
    head = f"{outcome.tool}: {message(f'cli.state.{outcome.state}', locale)}"
    if outcome.failure is None:
        return [head]
    lines = [f"{head} ({outcome.failure.kind})", for_people(outcome.failure, locale)]
    detail = outcome.failure.diagnostic if debug else own_words(outcome.failure)
    return [*lines, message("cli.outcome.detail", locale, detail=detail)] if detail else lines


def _fallback_lines(outcome: CallOutcome, locale: Locale) -> list[str]:
    source = outcome.effort.fallback
    if source is None:
        return []
    if source == STATIC_ANSWER:
        return [message("cli.outcome.static_answer", locale, tool=outcome.tool)]
    return [message("cli.outcome.fallback", locale, tool=outcome.tool, fallback=source)]


def _arguments(text: str, locale: Locale) -> Json:
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    try:
        return parse_json(text)
    except JsonTextError as error:
        raise UsageError(message("approvals.call.not_json", locale, detail=error)) from None


async def _call(settings: Settings, order: CallOrder, arguments: Json) -> CallOutcome:
    principal = acting_principal(settings, order.as_name)
    request = CallRequest(
        principal=principal,
        tool=order.tool,
        arguments=arguments,
        call_id=f"call_{secrets.token_hex(8)}",
        origin="cli",
        idempotency_key=order.idempotency_key,
        locale=locale_of(settings),
    )
    async with open_daeri(settings, order.tools) as daeri:
        outcome = await daeri.boundary.call(request)
        return await _settled(daeri, principal.tenant, outcome, order.wait_s)


async def _settled(daeri: Daeri, tenant: str, outcome: CallOutcome, wait_s: float) -> CallOutcome:
    """The outcome once people have decided and the call has run, or as it stands when the time is up."""
    until = time.monotonic() + wait_s
    while outcome.state in ("waiting", "started") and (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(_LOOK_AGAIN_S, left))
        await daeri.boundary.approvals.expire(datetime.now(UTC))
        outcome = await daeri.boundary.outcome_of(tenant, outcome.call_id)
    return outcome
