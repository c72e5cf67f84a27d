"""Arguments before anything else looks at them, and results before anybody is told that there are any."""

from __future__ import annotations

from daeri.errors import Failure
from daeri.text import Json, JsonObject
from daeri.tools import Tool, ToolValidators, check_limits

MAX_RESULT_BYTES = 25_000_000
"""A result above this is a breach of contract: nobody downstream could hold it."""


def argument_failure(tool: Tool, arguments: JsonObject, validators: ToolValidators) -> Failure | None:
    """Why the arguments don't fit, naming the place."""
    problem = check_limits(arguments) or validators.arguments(tool).problem(arguments)
    return problem and Failure(kind="invalid_arguments", diagnostic=str(problem), path=problem.path)


def result_failure(tool: Tool, value: Json, validators: ToolValidators) -> Failure | None:
    """Why the result breaks what the tool promises, or what anybody can hold."""
    problem = check_limits(value, max_bytes=MAX_RESULT_BYTES)
    if problem is None and (validator := validators.result(tool)):
        problem = validator.problem(value)
    return problem and Failure(kind="contract_violation", diagnostic=str(problem), path=problem.path)
