"""A model that replays prepared turns: for tests, demonstrations and evaluation without a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from daeri.errors import ModelError, ModelErrorKind

from ._calls import ids_in, recorded_arguments, unique_ids
from ._port import Finish, ModelCall, ModelEvent, ModelReply, ModelRequest, ReasoningDelta, TextDelta, Usage
from ._usage import estimate_usage

_DELTAS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedCall:
    """A call that a prepared turn makes."""

    name: str
    arguments: str
    """Raw text, as a model would write it."""
    id: str = ""
    """Empty: the provider gave none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedError:
    """A failure that a prepared turn ends in."""

    kind: ModelErrorKind
    detail: str = "scripted failure"
    retry_after_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedTurn:
    """One prepared turn. With an `error`, the text before it is streamed and then void."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    delay_s: float = 0.0
    """Seconds before the first piece."""
    error: ScriptedError | None = None
    finish: Finish | None = None
    """`None`: `calls` with calls, else `stop`."""
    usage: Usage | None = None
    """`None`: estimated."""


class ScriptModel:
    """Takes the turns of a script one after the other, whatever it is asked; every attempt uses one up."""

    def __init__(self, turns: Sequence[ScriptedTurn], *, name: str = "script") -> None:
        self._turns = tuple(turns)
        self._name = name
        self._used = 0

    @classmethod
    def load(cls, file: Path) -> ScriptModel:
        """The script in a file of JSON lines.

        Raises:
            SettingsError: the file can't be read, or a line of it is wrong.
        """
        from ._script_file import load_script

        return cls(load_script(file), name=f"script:{file}")

    @property
    def name(self) -> str:
        """As it is chosen in settings."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """The next turn; see `Model.stream`."""
        turn = self._take()
        await anyio.sleep(turn.delay_s)
        for piece in _pieces(turn.reasoning):
            yield ReasoningDelta(text=piece)
        for piece in _pieces(turn.text):
            yield TextDelta(text=piece)
        if turn.error is not None:
            raise ModelError(turn.error.kind, self._name, turn.error.detail, retry_after_s=turn.error.retry_after_s)
        yield self._reply(turn, request)

    async def close(self) -> None:
        """Nothing to give back."""

    def _take(self) -> ScriptedTurn:
        if self._used == len(self._turns):
            detail = f"the script is over: all of its {len(self._turns)} turns are used; add a line for this turn"
            raise ModelError("bad_request", self._name, detail)
        self._used += 1
        return self._turns[self._used - 1]

    def _reply(self, turn: ScriptedTurn, request: ModelRequest) -> ModelReply:
        ids = unique_ids([call.id for call in turn.calls], ids_in(request))
        calls = tuple(
            ModelCall(id=call_id, name=call.name, arguments=recorded_arguments(call.arguments), provider_id=call.id)
            for call, call_id in zip(turn.calls, ids, strict=True)
        )
        written = "".join([turn.reasoning, turn.text, *(call.arguments for call in turn.calls)])
        return ModelReply(
            text=turn.text,
            reasoning=turn.reasoning,
            calls=calls,
            finish=turn.finish or ("calls" if calls else "stop"),
            usage=turn.usage or estimate_usage(request, written),
            model=self._name,
        )


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // _DELTAS))
    return [text[at : at + size] for at in range(0, len(text), size)]
