"""What a person may set about the model, and the reference that names one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, cast, get_args

from daeri.errors import SettingsError

ModelKind = Literal["openai", "openai-compatible", "script", "planner", "auto-local"]
"""Where a model comes from: OpenAI, a server that speaks the same format, a file of prepared turns, the embedded
planner, or whatever OpenAI-compatible server this machine runs."""

_NAMED: tuple[ModelKind, ...] = ("openai", "openai-compatible", "script")
_FORMS = "Use `openai:NAME`, `openai-compatible:NAME` (with a base URL), `planner`, `script:FILE` or `auto-local`."


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings:
    """Everything that can be set about the model."""

    reference: str | None = None
    """Which model; `None` lets `choose_model` decide."""
    base_url: str | None = None
    """Of an OpenAI-compatible server, with its `/v1`."""
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    """Seconds that a model may stay silent, before and between the pieces of a reply."""
    max_output_tokens: int | None = None
    temperature: float | None = None
    prices: Mapping[str, tuple[Decimal, Decimal]] = field(default_factory=dict[str, tuple[Decimal, Decimal]])
    """US dollars per million input and output tokens by model name; goes before list prices."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReference:
    """A parsed reference: `openai:gpt-5` is the kind `openai` with the name `gpt-5`."""

    kind: ModelKind
    name: str = ""
    """The model, or the file of a script; empty for the kinds that need none."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind


def parse_model(reference: str) -> ModelReference:
    """Read a reference.

    Raises:
        SettingsError: no form that we know, or one without its name.
    """
    kind, colon, name = reference.strip().partition(":")
    if kind not in get_args(ModelKind):
        raise SettingsError("model.reference", reference, "names no kind of model", _FORMS)
    known = cast("ModelKind", kind)
    if known in _NAMED and not name:
        what = "FILE" if known == "script" else "NAME"
        raise SettingsError("model.reference", reference, "lacks its name", f"Write `{known}:{what}`.")
    if known not in _NAMED and colon:
        raise SettingsError("model.reference", reference, "takes no name", f"Write just `{known}`.")
    return ModelReference(kind=known, name=name)
