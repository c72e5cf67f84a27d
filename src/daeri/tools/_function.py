"""`@tool`: a Python function as a tool."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from daeri.errors import DefinitionError, ToolError
from daeri.text import Json, JsonObject, Locale, message

from ._docstring import read_docstring
from ._limits import check_limits
from ._names import check_name
from ._pointer import json_pointer, resolve_pointer
from ._problem import SchemaProblem, place
from ._provider import ToolContext
from ._resilience import Resilience
from ._schema import Signature, parameter_names, read_signature
from ._stream import UnfitStreamError, collect
from ._strict import StrictSchemaError, strict_schema
from ._threads import WorkerThreads
from ._tool import RISKS, Annotations, Risk, Tool
from ._upstream import UpstreamError

P = ParamSpec("P")
R = TypeVar("R")

_UPSTREAM_ERRORS: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)


class ArgumentsError(ToolError):
    """Arguments that fit the JSON Schema, and that a rule of the function's own types refuses."""

    def __init__(self, problem: SchemaProblem, locale: Locale) -> None:
        self.problem = problem
        super().__init__(message("tools.arguments_refused", locale), diagnostic=str(problem))


class ResultError(ToolError):
    """A result that can't be written as JSON: a fault of the tool."""

    def __init__(self, tool: str, reason: str, locale: Locale, *, path: str | None = None) -> None:
        self.tool = tool
        self.reason = reason
        self.path = path
        """JSON Pointer of what can't be written, where that is one place."""
        super().__init__(
            message("tools.result_unreadable", locale),
            diagnostic=f"the result of tool {tool!r} can't be written as JSON: {reason}",
        )


class FunctionTool(Generic[P, R]):
    """A function that is a tool: call it like the function it was, or through `invoke` with JSON arguments."""

    def __init__(
        self,
        function: Callable[P, R],
        tool: Tool,
        signature: Signature,
        upstream_errors: tuple[type[Exception], ...] = _UPSTREAM_ERRORS,
    ) -> None:
        self.tool = tool
        self._function = function
        self._signature = signature
        self._upstream_errors = upstream_errors
        self._is_async = inspect.iscoroutinefunction(function)
        self._streams = inspect.isasyncgenfunction(function)
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"FunctionTool({self.tool.name!r})"

    async def invoke(
        self, arguments: JsonObject, context: ToolContext, *, threads: WorkerThreads | None = None
    ) -> Json:
        """Run the function with arguments that fit its schema; a sync function runs in `threads`, else in the loop's.

        An async generator reports every chunk through the context. Its result is the joined text if it is annotated to
        yield `str`, the list of chunks if it yields something else, and without an annotation whichever fits.

        Raises:
            ArgumentsError: a validator of the function's own types refuses a value.
            ResultError: the result can't be written as JSON.
            UpstreamError: the function raised one, or what it was declared to raise in that case.
        """
        call = self._bind(arguments, context)
        try:
            value = await self._carried_out(call, context, threads)
        except SystemExit as stop:
            raise RuntimeError(f"tool {self.tool.name!r} called sys.exit({stop.code!r})") from stop
        except ToolError:
            raise
        except self._upstream_errors as error:
            raise UpstreamError(f"{type(error).__name__}: {error}") from error
        return self._write(value, context.locale)

    async def _carried_out(
        self, call: Callable[[], object], context: ToolContext, threads: WorkerThreads | None
    ) -> object:
        if self._streams:
            return await self._streamed(cast("AsyncGenerator[object]", call()), context)
        if self._is_async:
            return await cast("Any", call())
        value = await (threads.run(call) if threads else asyncio.to_thread(call))
        # a sync wrapper around an async function
        return await value if inspect.isawaitable(value) else value

    async def _streamed(self, stream: AsyncGenerator[object], context: ToolContext) -> object:
        try:
            return await collect(stream, context.report, as_text=self._signature.as_text)
        except UnfitStreamError as error:
            raise ResultError(self.tool.name, str(error), context.locale) from error

    def _bind(self, arguments: JsonObject, context: ToolContext) -> Callable[[], object]:
        signature = self._signature
        try:
            model = signature.model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ArgumentsError(_problem(error, arguments), context.locale) from None
        values: dict[str, Any] = {name: getattr(model, field) for name, field in signature.fields.items()}
        if signature.context:
            values[signature.context] = context
        positional = [values.pop(name) for name in signature.positional]
        return partial(cast("Callable[..., object]", self._function), *positional, **values)

    def _write(self, value: object, locale: Locale) -> Json:
        adapter = self._signature.result
        made: Any = None
        try:
            made = (
                to_jsonable_python(value)
                if adapter is None
                # a misfit is written as it is: the output contract is checked by those who enforce it
                else adapter.dump_python(value, mode="json", by_alias=True, warnings="none")
            )
            json.dumps(made, allow_nan=False)
        except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
            misfit = check_limits(made, max_bytes=sys.maxsize) if made is not None else None
            reason, path = (misfit.message, misfit.path) if misfit else (str(error), None)
            raise ResultError(self.tool.name, reason, locale, path=path) from error
        return cast("Json", made)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    scopes: Iterable[str] = (),
    risk: Risk = "low",
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
    timeout_s: float = 30.0,
    resilience: Resilience | None = None,
    upstream_errors: tuple[type[Exception], ...] = _UPSTREAM_ERRORS,
    tags: Iterable[str] = (),
    trusted: bool = False,
    consequences: str = "",
    strict: bool = False,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    scopes: Iterable[str] = (),
    risk: Risk = "low",
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
    timeout_s: float = 30.0,
    resilience: Resilience | None = None,
    upstream_errors: tuple[type[Exception], ...] = _UPSTREAM_ERRORS,
    tags: Iterable[str] = (),
    trusted: bool = False,
    consequences: str = "",
    strict: bool = False,
) -> Any:
    """Make a tool of a function: sync, async, or an async generator that yields its result piece by piece.

    The schema comes from the annotations, the words from the docstring (Google, NumPy or reST). A parameter annotated
    `ToolContext` gets the context of the call and stays out of the schema. The fields are those of `Tool`; besides,
    `upstream_errors` names the exceptions that mean what `UpstreamError` says, those of an HTTP client for example.

    Raises:
        DefinitionError: something of it can't be offered; names it and says what to do.
    """
    fields: dict[str, Any] = {
        "annotations": Annotations(
            read_only=read_only, destructive=destructive, idempotent=idempotent, open_world=open_world
        ),
        "scopes": scopes,
        "risk": risk,
        "timeout_s": timeout_s,
        "resilience": resilience or Resilience(),
        "tags": tags,
        "trusted": trusted,
        "consequences": consequences,
        "strict": strict,
    }

    def decorate(function: Callable[..., Any]) -> FunctionTool[..., Any]:
        return _define(function, name, description, fields, upstream_errors)

    return decorate if function is None else decorate(function)


def _define(
    function: Callable[..., Any],
    name: str | None,
    description: str | None,
    fields: dict[str, Any],
    upstream_errors: tuple[type[Exception], ...],
) -> FunctionTool[..., Any]:
    subject = f"tool {name or getattr(function, '__name__', repr(function))!r}"
    _check_function(function, subject)
    own_name = name or function.__name__
    check_name(own_name)
    _check_fields(fields, subject)
    text = read_docstring(function.__doc__, parameter_names(function))
    signature = read_signature(function, text, subject)
    declared = {**fields, "scopes": frozenset(fields["scopes"]), "tags": frozenset(fields["tags"])}
    made = Tool(
        name=own_name,
        description=text.description if description is None else description,
        input_schema=signature.input_schema,
        output_schema=signature.output_schema,
        **cast("dict[str, Any]", declared),
    )
    if made.strict:
        _check_strict(made, subject)
    return FunctionTool(function, made, signature, upstream_errors)


def _check_function(function: object, subject: str) -> None:
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise DefinitionError(subject, "not a function", "Decorate a function, or wrap the object in one.")
    if inspect.isgeneratorfunction(function):
        raise DefinitionError(
            subject, "it yields its results one by one", "Make it async to stream them, or return a list."
        )


def _check_fields(fields: dict[str, Any], subject: str) -> None:
    for field in ("scopes", "tags"):
        if isinstance(fields[field], str):
            raise DefinitionError(subject, f"`{field}` is one string", f"Write {field}=[{fields[field]!r}].")
    if fields["risk"] not in RISKS:
        raise DefinitionError(subject, f"unknown risk {fields['risk']!r}", f"Choose one of {', '.join(RISKS)}.")
    if not fields["timeout_s"] > 0:
        raise DefinitionError(subject, f"timeout_s={fields['timeout_s']} leaves no time", "Give seconds above 0.")
    if fields["annotations"].read_only and fields["annotations"].destructive:
        raise DefinitionError(subject, "read_only and destructive exclude each other", "Drop the one that is not true.")


def _check_strict(tool: Tool, subject: str) -> None:
    try:
        strict_schema(tool.input_schema)
    except StrictSchemaError as error:
        raise DefinitionError(
            subject, f"strict=True, but {error}", "Give the value a closed type, or drop strict."
        ) from None


def _problem(error: ValidationError, arguments: JsonObject) -> SchemaProblem:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = first["loc"]
    # pydantic names the alternative of a union in the path as well
    while path and not _exists(arguments, json_pointer(path)):
        path = path[:-1]
    pointer = json_pointer(path)
    return SchemaProblem(path=pointer, message=f"At {place(pointer)}: {first['msg']}.")


def _exists(value: Json, pointer: str) -> bool:
    try:
        resolve_pointer(value, pointer)
    except LookupError:
        return False
    return True
