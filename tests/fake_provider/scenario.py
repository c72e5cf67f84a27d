"""What a fake model does in one turn, whatever wire format carries it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class FakeCall:
    name: str
    arguments: str = "{}"
    id: str | None = "call_1"
    """`None`: the server sends no id at all."""


@dataclass(frozen=True, kw_only=True)
class FakeUsage:
    input_tokens: int = 100
    output_tokens: int = 20
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A turn that succeeds, unless it is cut off on the way."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[FakeCall, ...] = ()
    finish: str | None = None
    """`None`: what fits the calls. Empty: the server never says why it stopped."""
    usage: FakeUsage | None = field(default_factory=FakeUsage)
    running_usage: bool = False
    """Usage comes with every streamed event, as the sum so far."""
    model: str = ""
    """Empty: the model that was asked for."""
    piece: int = 8
    """Characters per streamed piece."""
    interleaved: bool = False
    """Argument pieces of parallel calls take turns."""
    cut_after: int | None = None
    """Number of streamed events after which the connection is torn down."""
    clean_cut: bool = False
    """The cut looks like a proper end of the HTTP response."""
    stop_at: int | None = None
    """Number of streamed events after which the server waits until the client goes away or `resume` is set."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An HTTP error; `{authorization}` in the message becomes the header that came with the request."""

    status: int
    message: str = "no"
    code: str | None = None
    type: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    in_stream: bool = False
    """Sent as an error object in a stream that began well."""


@dataclass(frozen=True, kw_only=True)
class Hang:
    """The server takes the request and says nothing until the client goes away."""


Scenario: TypeAlias = Reply | Refusal | Hang


@dataclass(kw_only=True)
class Seen:
    """One request as it came over the wire, and what became of its connection."""

    path: str
    headers: dict[str, str]
    body: dict[str, object]
    reached: threading.Event = field(default_factory=threading.Event)
    """The server has come to the point where it waits."""
    gone: threading.Event = field(default_factory=threading.Event)
    """The client went away before the end."""
