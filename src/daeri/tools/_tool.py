"""The tool: what can be called, and what governs it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from daeri.text import Json, JsonObject, digest

from ._resilience import Resilience

Risk = Literal["low", "medium", "high", "critical"]
RISKS: tuple[Risk, ...] = ("low", "medium", "high", "critical")
"""From the least to the greatest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotations:
    """What a tool does to the world, as its author declares it (MCP tool annotations, without the guesses)."""

    read_only: bool = False
    """Changes nothing anywhere."""
    destructive: bool = False
    """May delete or overwrite."""
    idempotent: bool = False
    """Running it again with the same arguments adds nothing; a read-only tool always is."""
    open_world: bool = False
    """Reaches beyond the company's own systems."""

    @property
    def repeatable(self) -> bool:
        """Whether running it twice is as good as running it once."""
        return self.read_only or self.idempotent


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A named, described, schema-typed operation."""

    name: str
    """Unique in the registry: `server.tool`, or one word for a tool of our own."""
    description: str
    input_schema: JsonObject
    """JSON Schema 2020-12 of the arguments, an object."""
    output_schema: JsonObject | None = None
    """The output contract; without one, results pass unchecked."""
    annotations: Annotations = field(default_factory=Annotations)
    scopes: frozenset[str] = frozenset()
    """All of them are required."""
    risk: Risk = "low"
    enabled: bool = True
    timeout_s: float = 30.0
    """Seconds for one call in all: waiting for a place, every attempt and the pauses between them."""
    resilience: Resilience = field(default_factory=Resilience)
    """What is done while the system behind it is slow or down."""
    tags: frozenset[str] = frozenset()
    source: str = "python"
    """The provider that carries it out."""
    trusted: bool = False
    """Whether its results count as trusted text."""
    consequences: str = ""
    """What will happen, in the words that an approver reads."""
    strict: bool = False
    """Offer the schema in the strict form that some model APIs can enforce."""

    @cached_property
    def definition_hash(self) -> str:
        """Digest of what the author declares that it is and does, and of all that governs it or answers for it.

        Left out is what changes neither: whether and how patiently it is run, and the form its schema is offered in.
        """
        marks = self.annotations
        declared: dict[str, Json] = {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": [marks.read_only, marks.destructive, marks.idempotent, marks.open_world],
            "scopes": sorted(self.scopes),
            "risk": self.risk,
            "source": self.source,
            "consequences": self.consequences,
            "tags": sorted(self.tags),
            "trusted": self.trusted,
            # as text: whether it is JSON at all is found out, and said, at start
            "fallback": json.dumps(self.resilience.fallback_json, sort_keys=True, default=repr),
        }
        return digest(declared)
