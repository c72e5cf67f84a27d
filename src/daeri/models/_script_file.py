"""The file of a script: one turn per line of JSON; blank lines and lines that begin with `#` are skipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from daeri.errors import ModelErrorKind, SettingsError
from daeri.text import scrub_text

from ._port import Finish, Usage
from ._script import ScriptedCall, ScriptedError, ScriptedTurn

_Seconds = Annotated[float, Field(ge=0)]
_Tokens = Annotated[int, Field(ge=0)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Call(_Line):
    name: str
    arguments: dict[str, JsonValue] | str = Field(default_factory=dict[str, JsonValue])
    id: str = ""

    def scripted(self) -> ScriptedCall:
        arguments = self.arguments
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return ScriptedCall(name=scrub_text(self.name), arguments=text, id=scrub_text(self.id))


class _Error(_Line):
    kind: ModelErrorKind
    detail: str = "scripted failure"
    retry_after_s: _Seconds | None = None


class _Usage(_Line):
    input_tokens: _Tokens = 0
    output_tokens: _Tokens = 0
    cached_tokens: _Tokens = 0
    reasoning_tokens: _Tokens = 0


class _Turn(_Line):
    text: str = ""
    reasoning: str = ""
    calls: list[_Call] = Field(default_factory=list["_Call"])
    delay_s: _Seconds = 0.0
    error: _Error | None = None
    finish: Finish | None = None
    usage: _Usage | None = None

    @model_validator(mode="after")
    def _fails_or_calls(self) -> Self:
        if self.error is not None and self.calls:
            raise ValueError("a turn that fails makes no calls")
        return self

    def scripted(self) -> ScriptedTurn:
        return ScriptedTurn(
            text=scrub_text(self.text),
            reasoning=scrub_text(self.reasoning),
            calls=tuple(call.scripted() for call in self.calls),
            delay_s=self.delay_s,
            error=ScriptedError(**self.error.model_dump()) if self.error else None,
            finish=self.finish,
            usage=Usage(**self.usage.model_dump()) if self.usage else None,
        )


def load_script(file: Path) -> tuple[ScriptedTurn, ...]:
    """The turns of a script.

    Raises:
        SettingsError: the file can't be read, or a line of it is wrong; says which line and what about it.
    """
    reference = f"script:{file}"
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingsError(
            "model", reference, f"{file} can't be read: {reason}", "Name a file of JSON lines."
        ) from error
    turns = tuple(_turn(reference, file, at, line) for at, line in enumerate(lines, 1) if _counts(line))
    if not turns:
        fix = 'Write one turn per line: {"text": "..."}.'
        raise SettingsError("model.reference", reference, f"{file} holds no turn", fix)
    return turns


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _turn(reference: str, file: Path, number: int, line: str) -> ScriptedTurn:
    try:
        return _Turn.model_validate_json(line).scripted()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "/".join(str(step) for step in first["loc"])
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        where = f"line {number} of {file}: {problem}"
        raise SettingsError("model.reference", reference, where, "Correct that line.") from error
