"""How a tool is carried out while the system behind it is slow or down."""

from __future__ import annotations

import math
from dataclasses import dataclass

from daeri.errors import DefinitionError
from daeri.text import Json, scrub

from ._limits import check_limits

MAX_ATTEMPTS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticAnswer:
    """A result that is given when the tool can't answer, declared with the tool."""

    value: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Resilience:
    """What the gateway may do for one tool. Nothing of it makes a call run twice where once is not the same.

    Raises:
        DefinitionError: a number that makes no sense.
    """

    attempts: int = 3
    """Attempts at one call in all. A further one is made only if the last never left, or the tool is repeatable."""
    first_wait_s: float = 0.2
    """Upper bound of the first pause; it doubles with each attempt, and the real pause is drawn below it."""
    idle_timeout_s: float | None = None
    """Seconds without a chunk or a report after which an attempt is given up. `None`: only `timeout_s` counts."""
    max_concurrent: int | None = None
    """Calls that are carried out at the same time. `None`: any number."""
    max_queued: int = 0
    """Calls that may wait for a place beyond that; the next one fails at once."""
    breaker_failures: int = 5
    """Failures to reach the system, one after the other, that open the circuit. 0: it never opens."""
    breaker_reset_s: float = 30.0
    """Seconds until an open circuit lets one call through to see."""
    upstream: str | None = None
    """The system behind the tool: tools that name the same one share a circuit, besides each its own."""
    fallback: str | StaticAnswer | None = None
    """A read-only tool that takes the same arguments, or an answer, for when this tool can't be reached."""

    @property
    def fallback_json(self) -> Json:
        """The fallback as records write it: a tool's name, or `{"value": ...}`."""
        if not isinstance(self.fallback, StaticAnswer):
            return self.fallback
        # what is no JSON is refused at start, by the name of its tool; until then it needs a definition all the same
        value = self.fallback.value
        return {"value": repr(value) if check_limits(value) else scrub(value)}

    def __post_init__(self) -> None:
        for field, at_least in (("attempts", 1), ("max_queued", 0), ("breaker_failures", 0), ("max_concurrent", 1)):
            number = getattr(self, field)
            if number is not None and number < at_least:
                raise DefinitionError("resilience", f"{field}={number} is less than {at_least}")
        if self.attempts > MAX_ATTEMPTS:
            raise DefinitionError("resilience", f"attempts={self.attempts} is more than {MAX_ATTEMPTS}")
        for field in ("first_wait_s", "idle_timeout_s", "breaker_reset_s"):
            seconds = getattr(self, field)
            if seconds is not None and not 0 < seconds < math.inf:
                raise DefinitionError("resilience", f"{field}={seconds} is not a number of seconds above 0")
        if self.max_queued and self.max_concurrent is None:
            raise DefinitionError("resilience", "max_queued without max_concurrent", "Nothing ever waits: give both.")
