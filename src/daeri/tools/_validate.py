"""JSON Schema checks: compiled once per tool, explained for a model, never with a look at the network."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, cast

import jsonschema_rs
from jsonschema_rs import ValidationError

from daeri.errors import DefinitionError
from daeri.text import Json, JsonObject

from ._absent import drop_absent
from ._explain import explain
from ._formats import FORMATS
from ._problem import SchemaProblem
from ._tool import Tool

_LARGE = 10_000
"""Values in a value, counted with all inside; above it only the first error is looked for."""


class SchemaValidator:
    """One compiled schema: draft 2020-12, or the one that `$schema` names."""

    def __init__(
        self,
        schema: JsonObject,
        *,
        subject: str = "schema",
        formats: bool = True,
        documents: Mapping[str, Json] | None = None,
    ) -> None:
        """Compile a schema.

        Args:
            schema: The schema.
            subject: What an error calls it.
            formats: Check `format`; the standard leaves that open, and takes it for a remark unless asked.
            documents: Other schemas that this one may refer to, by their addresses; nothing is ever fetched.

        Raises:
            DefinitionError: the schema can't be used.
        """
        self._schema = cast("dict[str, Any]", _plain(schema))
        try:
            self._validator = jsonschema_rs.validator_for(
                self._schema,
                formats=FORMATS,
                validate_formats=formats,
                registry=jsonschema_rs.Registry(cast("Any", documents.items())) if documents else None,
                offline=True,
            )
        except ValueError as error:
            raise _unusable(subject, error) from None

    def accepts(self, value: Json) -> bool:
        """Whether the value fits."""
        return self.problem(value) is None

    def problem(self, value: Json) -> SchemaProblem | None:
        """What is best repaired first; `None` when the value fits."""
        try:
            return self._problem(value)
        except (ValueError, TypeError):
            # the validator reads dict and list only; the second try has nothing else in it
            return self._problem_of_foreign(value)

    def normalise(self, arguments: JsonObject) -> JsonObject:
        """Arguments without the nulls that stand for "not given".

        A null goes where the schema refuses it and the property may be left out; whatever fits stays as it is, and so
        do arguments of more than 10,000 values. What is decided on, digested, recorded and carried out is the result.
        """
        try:
            return self._normalised(arguments)
        except (ValueError, TypeError):
            return self._normalised_foreign(arguments)

    def _normalised(self, arguments: JsonObject) -> JsonObject:
        if self._validator.is_valid(arguments) or _is_large(arguments):
            return arguments
        return cast("JsonObject", drop_absent(arguments, self._errors))

    def _normalised_foreign(self, arguments: JsonObject) -> JsonObject:
        try:
            return self._normalised(cast("JsonObject", _plain(arguments)))
        except (ValueError, TypeError):
            # no JSON: `problem` says so
            return arguments

    def _errors(self, value: Json) -> Sequence[ValidationError]:
        if self._validator.is_valid(value):
            return ()
        if _is_large(value):
            # listing all that is wrong with a large value takes seconds
            return _first_error(self._validator, value)
        return list(self._validator.iter_errors(value))

    def _problem(self, value: Json) -> SchemaProblem | None:
        errors = self._errors(value)
        return explain(errors, self._schema) if errors else None

    def _problem_of_foreign(self, value: Json) -> SchemaProblem | None:
        try:
            return self._problem(_plain(value))
        except (ValueError, TypeError) as error:
            return SchemaProblem(path="", message=f"The value is not JSON: {error}.", expected="a JSON value")


class ToolValidators:
    """The validators of tools, compiled at first use and kept by definition hash; the longest unused leave first."""

    def __init__(self, max_tools: int = 1024) -> None:
        self._max = max_tools * 2
        self._kept: OrderedDict[tuple[str, str], SchemaValidator] = OrderedDict()

    def arguments(self, tool: Tool) -> SchemaValidator:
        """The validator of the tool's arguments.

        Raises:
            DefinitionError: the schema can't be used.
        """
        return self._get(tool, "arguments", tool.input_schema)

    def result(self, tool: Tool) -> SchemaValidator | None:
        """The validator of the tool's results, if it promises anything about them.

        Raises:
            DefinitionError: the schema can't be used.
        """
        return None if tool.output_schema is None else self._get(tool, "result", tool.output_schema)

    def _get(self, tool: Tool, part: str, schema: JsonObject) -> SchemaValidator:
        key = (tool.definition_hash, part)
        validator = self._kept.get(key)
        if validator is None:
            validator = SchemaValidator(schema, subject=f"tool {tool.name!r}, schema of its {part}")
            self._kept[key] = validator
            if len(self._kept) > self._max:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return validator


def _is_large(value: Json) -> bool:
    waiting: list[Json] = [value]
    seen = 0
    while waiting and seen <= _LARGE:
        item = waiting.pop()
        seen += 1
        if isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, Sequence) and not isinstance(item, str):
            waiting.extend(item)
    return seen > _LARGE


def _first_error(validator: jsonschema_rs.Validator, value: Json) -> Sequence[ValidationError]:
    try:
        validator.validate(value)
    except ValidationError as error:
        return (error,)
    return ()


def _unusable(subject: str, error: ValueError) -> DefinitionError:
    reason = getattr(error, "message", str(error))
    if "Retrieval is disabled" in reason:
        return DefinitionError(
            subject, "it refers to a schema elsewhere, and nothing is fetched", "Copy that schema into `$defs`."
        )
    at = "/".join(str(part) for part in getattr(error, "instance_path", ()))
    return DefinitionError(subject, f"not a usable JSON Schema{f' at {at}' if at else ''}: {reason.rstrip('.')}")


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
