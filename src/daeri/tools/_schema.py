"""JSON Schema of a function's parameters and of its result, and the way from JSON to Python values and back."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union, cast, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    TypeAdapter,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import core_schema

from daeri.errors import DefinitionError
from daeri.text import JsonObject

from ._docstring import FunctionText
from ._provider import ToolContext

_REASONS = (PydanticUserError, PydanticUndefinedAnnotation, TypeError, NameError, RecursionError)
_DECIMAL_INPUT = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$"
_DECIMAL_OUTPUT = r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$"


@dataclass(frozen=True, kw_only=True)
class Signature:
    """How a function is called from JSON."""

    model: type[BaseModel]
    """Reads the arguments; its fields are `p0`, `p1` …, their aliases the names on the wire."""
    fields: Mapping[str, str]
    """Field of the model by the parameter's name."""
    positional: tuple[str, ...]
    """Parameters that can be given by position only, in order."""
    context: str | None
    """The parameter that gets the `ToolContext`."""
    result: TypeAdapter[Any] | None
    """Writes the result; `None` when the function promises nothing."""
    input_schema: JsonObject
    output_schema: JsonObject | None
    as_text: bool | None = None
    """Of an async generator: whether its chunks are joined to one text; `None` when it doesn't say what they are."""


def read_signature(function: Callable[..., Any], text: FunctionText, subject: str) -> Signature:
    """What the annotations and the docstring of a function say about its parameters and result.

    Raises:
        DefinitionError: a parameter or the result can't be described; names it and says what to do.
    """
    hints = _hints(function, subject)
    parameters = list(inspect.signature(function).parameters.values())
    context = next((p.name for p in parameters if _is_context(hints.get(p.name))), None)
    taken = [p for p in parameters if p.name != context]
    fields: dict[str, str] = {}
    definitions: dict[str, tuple[Any, FieldInfo]] = {}
    for index, parameter in enumerate(taken):
        _check_parameter(parameter, hints, subject)
        # neutral field names: any parameter name is allowed, also `_x`, `schema` or `model_config`
        fields[parameter.name] = f"p{index}"
        definitions[f"p{index}"] = _field(parameter, hints[parameter.name], text.parameters.get(parameter.name))
    names = {field: name for name, field in fields.items()}
    model, input_schema = _input(definitions, names, subject)
    returned = hints.get("return")
    chunk = _chunk(returned, subject) if inspect.isasyncgenfunction(function) else None
    result, output_schema = _output(returned if chunk is None else _of_chunks(chunk), subject)
    return Signature(
        model=model,
        fields=fields,
        positional=tuple(p.name for p in parameters if p.kind is p.POSITIONAL_ONLY),
        context=context,
        result=result,
        input_schema=input_schema,
        output_schema=output_schema,
        as_text=None if chunk is None or chunk is Any else chunk is str,
    )


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters, in order."""
    return tuple(inspect.signature(function).parameters)


def _hints(function: Callable[..., Any], subject: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raw = cast("dict[str, Any]", getattr(function, "__annotations__", {}))
        name = str(getattr(error, "name", "") or "")
        owners = [key for key, value in raw.items() if name and name in str(value)]
        where = f"the annotation of {_owner(owners[0])}" if owners else "an annotation"
        raise DefinitionError(
            subject,
            f"{where} can't be resolved ({error})",
            "Import the type at run time, not under TYPE_CHECKING, and define it at module level.",
        ) from None


def _owner(parameter: str) -> str:
    return "the result" if parameter == "return" else f"parameter `{parameter}`"


def _is_context(hint: object) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return ToolContext in get_args(hint)
    return hint is ToolContext


def _check_parameter(parameter: inspect.Parameter, hints: Mapping[str, Any], subject: str) -> None:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars, instead = (
            ("*", "a list") if parameter.kind is parameter.VAR_POSITIONAL else ("**", "a dict or a TypedDict")
        )
        raise DefinitionError(
            subject,
            f"parameter `{stars}{name}` takes any number of arguments, and a model must know which there are",
            f"Take one parameter that is {instead}.",
        )
    if name not in hints:
        fix = f"Write `{name}: str`, for example."
        if name in ("self", "cls"):
            fix = "Decorate the bound method, `tool(instance.method)`, or a function."
        raise DefinitionError(subject, f"parameter `{name}` has no type annotation", fix)


def _field(parameter: inspect.Parameter, hint: Any, words: str | None) -> tuple[Any, FieldInfo]:
    own = (
        [item for item in get_args(hint)[1:] if isinstance(item, FieldInfo)]
        if get_origin(hint) is typing.Annotated
        else []
    )
    default = parameter.default
    if isinstance(default, FieldInfo):
        own.append(default)
    extra: dict[str, Any] = {}
    if not any(info.alias for info in own):
        extra["alias"] = parameter.name
    if words and not any(info.description for info in own):
        extra["description"] = words
    if isinstance(default, FieldInfo):
        return typing.Annotated[hint, Field(**extra)], default
    return hint, Field(default=... if default is parameter.empty else default, **extra)


def _input(
    definitions: Mapping[str, tuple[Any, FieldInfo]], names: Mapping[str, str], subject: str
) -> tuple[type[BaseModel], JsonObject]:
    try:
        return _model(definitions)
    except _REASONS as error:
        culprit, reason = _culprit(definitions, error)
        raise DefinitionError(
            subject,
            f"{_owner(names[culprit]) if culprit else 'the parameters'} can't be described in JSON Schema: {reason}",
            "Use built-in types, dataclasses, enums, typing_extensions.TypedDict or pydantic models.",
        ) from None


def _model(definitions: Mapping[str, tuple[Any, FieldInfo]]) -> tuple[type[BaseModel], JsonObject]:
    create = cast("Callable[..., type[BaseModel]]", create_model)
    model = create("Arguments", __config__=ConfigDict(extra="forbid"), **definitions)
    return model, _clean(model.model_json_schema(schema_generator=_Generator))


def _culprit(definitions: Mapping[str, tuple[Any, FieldInfo]], error: Exception) -> tuple[str | None, str]:
    for name, definition in definitions.items():
        try:
            _model({name: definition})
        except _REASONS as cause:
            return name, _first_line(cause)
    return None, _first_line(error)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _chunk(hint: Any, subject: str) -> Any:
    """What an async generator yields, by its annotation."""
    if hint is None:
        return Any
    if get_origin(hint) in (AsyncGenerator, AsyncIterator, AsyncIterable):
        return get_args(hint)[0]
    raise DefinitionError(
        subject,
        "it yields its result, and its annotation says otherwise",
        "Write `-> AsyncIterator[str]`, for example.",
    )


def _of_chunks(chunk: Any) -> Any:
    return chunk if chunk is str or chunk is Any else list[chunk]


def _output(hint: Any, subject: str) -> tuple[TypeAdapter[Any] | None, JsonObject | None]:
    if hint is None or hint is Any or hint is type(None):
        return None, None
    try:
        adapter = TypeAdapter(hint)
        return adapter, _clean(adapter.json_schema(mode="serialization", schema_generator=_Generator))
    except _REASONS as error:
        raise DefinitionError(
            subject,
            f"the result can't be described in JSON Schema: {_first_line(error)}",
            "Return built-in types, dataclasses, enums, typing_extensions.TypedDict or pydantic models.",
        ) from None


class _Generator(GenerateJsonSchema):
    """Pydantic's schema without titles that repeat names, and with the texts of decimals spelled out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def render_warning_message(self, kind: JsonSchemaWarningKind, detail: str) -> str | None:
        # a default that JSON has no words for is simply not shown
        return None if kind == "non-serializable-default" else super().render_warning_message(kind, detail)

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        made = super().decimal_schema(schema)
        pattern = _DECIMAL_INPUT if self.mode == "validation" else _DECIMAL_OUTPUT
        for branch in cast("list[dict[str, Any]]", made.get("anyOf", [made])):
            if branch.get("type") == "string":
                branch.setdefault("pattern", pattern)
        return made

    def generate(self, schema: core_schema.CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        made = super().generate(schema, mode)
        made.pop("title", None)
        for definition in cast("Iterable[dict[str, Any]]", made.get("$defs", {}).values()):
            definition.pop("title", None)
        return made


def _clean(schema: dict[str, Any]) -> JsonObject:
    # a function without parameters still takes an object with properties
    if schema.get("type") == "object" and schema.get("additionalProperties") is False:
        schema.setdefault("properties", {})
    return schema
