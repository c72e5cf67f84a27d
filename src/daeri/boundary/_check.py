"""Requests before anything else looks at them, and results before anybody is told that there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from unicodedata import category

from daeri.errors import ErrorKind, Failure
from daeri.text import Json, JsonObject, cut_middle, digest, scrub, scrub_text
from daeri.tools import SchemaProblem, Tool, ToolValidators, check_limits, settled

from ._records import CallRequest

MAX_RESULT_BYTES = 25_000_000
"""A result above this is a breach of contract: nobody downstream could hold it."""
_MAX_NAME_CHARS = 200
"""Of a tool's name as it goes into records; the longest valid one is shorter."""
_MAX_DIAGNOSTIC_CHARS = 2_000
_MAX_MARK_CHARS = 200
"""Of what callers choose to name a call, its key or themselves by: all of it stays on record for good."""


def admitted(request: CallRequest) -> tuple[CallRequest, Failure | None]:
    """The request as it can be recorded, and what about it is beyond all limits.

    Such arguments are replaced by a note: walking, hashing or storing them is what the limits are there to prevent. A
    call id that can't be one is replaced by its digest; a key or an agent's name is left out.
    """
    request, unfit = _with_fit_marks(request)
    problem = check_limits(request.arguments)
    arguments = {"left_out": _sentence(problem)} if problem else scrub(request.arguments)
    name = scrub_text(cut_middle(request.tool, _MAX_NAME_CHARS).text)
    return replace(request, tool=name, arguments=arguments), _failure(
        "invalid_arguments", problem
    ) if problem else unfit


def normalised(request: CallRequest, tool: Tool | Failure, validators: ToolValidators) -> CallRequest:
    """The request without nulls for "not given", and with defaults: from here on these are its arguments."""
    if isinstance(tool, Failure) or not isinstance(request.arguments, Mapping):
        return request
    arguments = settled(tool, request.arguments, validators)
    return request if arguments is request.arguments else replace(request, arguments=arguments)


def argument_failure(tool: Tool, arguments: JsonObject, validators: ToolValidators) -> Failure | None:
    """Why the arguments don't fit the schema, naming the place."""
    problem = validators.arguments(tool).problem(arguments)
    return problem and _failure("invalid_arguments", problem)


def checked_result(tool: Tool, raw: Json, validators: ToolValidators) -> Json | Failure:
    """The result without what can't be stored; or how it breaks what the tool promises, or what anybody can hold."""
    problem = check_limits(raw, max_bytes=MAX_RESULT_BYTES)
    if problem:
        return _failure("contract_violation", problem)
    value = scrub(raw)
    validator = validators.result(tool)
    problem = validator and validator.problem(value)
    return _failure("contract_violation", problem) if problem else value


def _with_fit_marks(request: CallRequest) -> tuple[CallRequest, Failure | None]:
    marks = {"call id": request.call_id, "idempotency key": request.idempotency_key, "name of the agent": request.agent}
    unfit = [noun for noun, mark in marks.items() if mark is not None and not _is_fit(mark)]
    if not unfit:
        return request, None
    said = f"the {' and the '.join(unfit)} must have 1 to {_MAX_MARK_CHARS} characters and no control characters"
    fit = replace(
        request,
        call_id=digest(request.call_id) if "call id" in unfit else request.call_id,
        idempotency_key=None if "idempotency key" in unfit else request.idempotency_key,
        agent=None if "name of the agent" in unfit else request.agent,
    )
    return fit, Failure(kind="invalid_arguments", diagnostic=f"{said}; choose another and call again")


def _is_fit(mark: str) -> bool:
    return 0 < len(mark) <= _MAX_MARK_CHARS and not any(category(char) in ("Cc", "Cs") for char in mark)


def _failure(kind: ErrorKind, problem: SchemaProblem) -> Failure:
    return Failure(kind=kind, diagnostic=_sentence(problem), path=scrub_text(problem.path))


def _sentence(problem: SchemaProblem) -> str:
    return scrub_text(cut_middle(str(problem), _MAX_DIAGNOSTIC_CHARS).text)
