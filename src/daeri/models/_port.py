"""The model port: what the engine asks of any model, and what it gets back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from daeri.text import Json, JsonObject, Locale


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one reply. `input_tokens` includes the cached ones, `output_tokens` the reasoning ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    """Counted by us because the provider reported nothing (an interrupted stream, a server that keeps silent)."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall:
    """One tool call as the model wrote it: not yet checked by anybody."""

    id: str
    """Unique within the conversation on the wire: the provider's id, or ours where that is missing or taken."""
    name: str
    """The tool's own name, mapped back from what the model API accepts; a name nobody offered comes as written."""
    arguments: str
    """Raw JSON text; may be malformed or cut off."""
    provider_id: str = ""
    """What the provider called it; may be empty or repeated."""


Finish = Literal["stop", "calls", "length", "filtered", "other"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReply:
    """One model turn."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ModelCall, ...] = ()
    finish: Finish = "stop"
    """Why the model stopped; `length` means that text or arguments may be cut off. Decide on `calls`, not on this."""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = None
    """US dollars; `None` when the price is unknown, never 0 for that."""
    model: str = ""
    """The model that answered, as it names itself."""
    raw: Json = None
    """The reply in the provider library's own JSON, so that reasoning and signatures survive later turns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallAnswer:
    """What the model is shown as the result of one call."""

    call: ModelCall
    content: str
    failed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One reply and the answers to all of its calls, in call order. Written whole, trimmed whole."""

    reply: ModelReply
    answers: tuple[CallAnswer, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as it is offered to a model."""

    name: str
    description: str
    input_schema: JsonObject
    strict: bool = False
    read_only: bool = False
    """Changes nothing anywhere, so that trying it does no harm."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """Everything a model sees for one turn."""

    instructions: str
    goal: str
    blocks: tuple[Block, ...] = ()
    omitted: str = ""
    """One line that stands for older blocks left out; empty when nothing was."""
    notice: str = ""
    """One line of ours to the model for this turn only (after an unusable reply, for example)."""
    tools: Sequence[ToolSpec] = ()
    locale: Locale = "en"
    max_output_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """A piece of the reply's text, as it is written."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningDelta:
    """A piece of the reply's visible reasoning, as it is written."""

    text: str


ModelEvent: TypeAlias = TextDelta | ReasoningDelta | ModelReply


class Model(Protocol):
    """A model that can take a turn."""

    @property
    def name(self) -> str:
        """As it is chosen in settings: `openai:gpt-5`, `planner`, `script:turns.jsonl`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Deltas while the model writes, then exactly one `ModelReply` as the last event.

        Closing the generator or cancelling its task stops the model at once and closes the connection.

        Raises:
            ModelError: the model could not answer; deltas that came before it are void.
        """
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...
