"""Settings that govern calls: rules, what is loosened, limits, and who may be acted as."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from daeri.identity import Role
from daeri.tools import Risk

from ._section import Section, TenantName

_Name = Annotated[str, Field(pattern=r"^[\w.@:-]{1,64}$")]
_People = Annotated[int, Field(ge=1, le=9)]


class _Selecting(Section):
    """A table that is about some calls; what is left out selects all of them."""

    name: _Name | None = None
    """What decisions call it; unset: `rule-1` or `limit-1`, by its place."""
    tool: str | None = None
    """A tool's name, or `server.*`, or `*`."""
    tag: str | None = None
    """Tools with this tag."""
    tenant: TenantName | None = None
    """Calls in this tenant."""


class RuleSettings(_Selecting):
    """A rule that tightens: of `risk`, `approvals` and `deny` at least one, for a `tool`, `tag` or `tenant`."""

    risk: Risk | None = None
    """The risk is at least this."""
    approvals: _People | None = None
    """At least so many people must approve."""
    deny: bool = False
    """Nobody may."""
    reason: str = ""
    """Why, for those who are stopped by it."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.tool is None and self.tag is None and self.tenant is None:
            raise ValueError("rule_for_nothing")
        if self.risk is None and self.approvals is None and not self.deny:
            raise ValueError("rule_without_effect")
        return self


class LoosenSettings(Section):
    """A tool that counts as less risky than its author says; on record at every change."""

    risk: Risk
    """The risk is at most this, whatever the tool declares."""
    reason: Annotated[str, Field(min_length=1)]
    """Why that is right."""


class CallLimitSettings(_Selecting):
    """A limit: `calls_per_minute`, `concurrent` or both, counted apart for each of `per`."""

    per: tuple[Literal["tenant", "principal", "tool"], ...]
    """Counted apart for each of these; `[]`: all calls together."""
    calls_per_minute: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Calls a minute, over time."""
    burst: Annotated[int, Field(ge=1)] | None = None
    """Calls at once after a pause; unset: those of a minute."""
    concurrent: Annotated[int, Field(ge=1)] | None = None
    """Calls at a time."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.calls_per_minute is None and self.concurrent is None:
            raise ValueError("limit_without_number")
        if self.burst is not None and self.calls_per_minute is None:
            raise ValueError("burst_without_rate")
        return self


class PolicySettings(Section):
    """What calls may do, on top of the built-in rules."""

    folder: Path = Path("policies")
    """Folder with Cedar policies (`*.cedar`), relative to the project; needs the extra `cedar`."""
    rules: tuple[RuleSettings, ...] = ()
    """Rules that tighten, as `[[policy.rules]]`: see the policy page."""
    loosen: dict[str, LoosenSettings] = Field(default_factory=dict[str, LoosenSettings])
    """Tools that count as less risky than declared, as `[policy.loosen."TOOL"]`: see the policy page."""
    limits: tuple[CallLimitSettings, ...] = ()
    """Calls a minute and at a time, as `[[policy.limits]]`: see the policy page."""

    @field_validator("rules", "limits")
    @classmethod
    def _has_unique_names(cls, value: tuple[_Selecting, ...]) -> tuple[_Selecting, ...]:
        names = [one.name for one in value if one.name is not None]
        if len(set(names)) < len(names):
            raise ValueError("same_name")
        return value

    @field_validator("loosen")
    @classmethod
    def _names_one_tool_each(cls, value: dict[str, LoosenSettings]) -> dict[str, LoosenSettings]:
        if any("*" in name for name in value):
            raise ValueError("loosens_many")
        return value


class PrincipalSettings(Section):
    """Somebody whom a person at the command line can act as."""

    tenant: TenantName | None = None
    """The organisation; unset: `tenant` of the settings."""
    scopes: tuple[str, ...] = ()
    """Scopes it holds."""
    roles: tuple[Role, ...] = ("user",)
    """Roles it holds."""
