"""The policies that settings and policy files make: floor, what comes on top, limits; and the record of them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from daeri.boundary import (
    AuditEvent,
    BuiltInPolicy,
    CallLimit,
    CallLimits,
    Decision,
    Policy,
    PolicyQuestion,
    PolicyRule,
    RulePolicy,
    Selector,
    StrictestPolicy,
)
from daeri.errors import DefinitionError, SettingsError
from daeri.settings import CallLimitSettings, RuleSettings, Settings
from daeri.store import SqliteStore
from daeri.text import JsonObject, digest
from daeri.tools import Tool, ToolRegistry, closest_names

if TYPE_CHECKING:
    from daeri.boundary.cedar import CedarPolicy

_SUBJECT = "policies"


class Policies:
    """All that is asked about a call besides the floor, as one policy; `floor` and `limits` go to the boundary too."""

    def __init__(self, settings: Settings, registry: ToolRegistry) -> None:
        """Build those of the settings; those of the files come with `load`.

        Raises:
            SettingsError: a rule, a limit or a loosening is about nothing that is there.
        """
        self._settings = settings.policy
        self._folder = settings.policy.folder
        self._registry = registry
        own, tools = settings.policy, registry.tools()
        for name in own.loosen:
            _check_tool(f"policy.loosen.{name}", name, tools)
        self.floor = BuiltInPolicy({name: one.risk for name, one in own.loosen.items()})
        there = _There(
            tools, {settings.tenant, *(one.tenant or settings.tenant for one in settings.principals.values())}
        )
        self.rules = RulePolicy([_rule(number, one, there) for number, one in enumerate(own.rules, 1)])
        self.limits = CallLimits([_limit(number, one, there) for number, one in enumerate(own.limits, 1)])
        self.cedar: CedarPolicy | None = None
        self._on_top = StrictestPolicy([self.rules])

    @property
    def layers(self) -> Mapping[str, Policy]:
        """Every layer by its name, the floor first."""
        cedar: Mapping[str, Policy] = {} if self.cedar is None else {"cedar": self.cedar}
        return {"built_in": self.floor, "settings": self.rules, **cedar}

    @property
    def unseen(self) -> Mapping[str, Sequence[str]]:
        """By tool, the arguments that no Cedar policy can see; empty without Cedar policies."""
        return {} if self.cedar is None else self.cedar.unseen

    def decide(self, question: PolicyQuestion) -> Decision:
        """What comes on top of the floor says; the boundary asks the floor itself."""
        return self._on_top.decide(question)

    async def load(self, store: SqliteStore, *, tenant: str, actor: str) -> None:
        """Load the policy files, at start or anew, all or nothing, and write down which, or why not.

        Raises:
            DefinitionError: a file can't be used, named with line and cause; what was in force stays in force.
            SettingsError: there are files, and Cedar is not installed.
        """
        try:
            self._load_cedar()
        except DefinitionError as error:
            data: JsonObject = {"place": error.subject, "problem": error.problem}
            await store.commit([_event("policy.refused", tenant, actor, data)])
            raise
        await self.record(store, tenant=tenant, actor=actor)

    async def record(self, store: SqliteStore, *, tenant: str, actor: str) -> None:
        """Write down what is loosened and what is in force, each only when it is not what was written down last."""
        loosened = {name: one.model_dump(mode="json") for name, one in self._settings.loosen.items()}
        files = {} if self.cedar is None else {file: digest(text) for file, text in self.cedar.texts.items()}
        loaded = self._settings.model_dump(mode="json", include={"rules", "limits"}, exclude_defaults=True)
        in_force: JsonObject = {**loaded, **({"cedar": files} if files else {})}
        both: tuple[tuple[Literal["setting.loosened", "policy.loaded"], JsonObject], ...] = (
            ("setting.loosened", loosened),
            ("policy.loaded", in_force),
        )
        for kind, data in both:
            last = await store.last_rules(tenant, kind)
            if data != ({} if last is None else json.loads(last.data)):
                await store.commit([_event(kind, tenant, actor, data)])

    def _load_cedar(self) -> None:
        _refuse_overlooked(self._folder)
        if self.cedar is not None:
            self.cedar.reload()
        elif any(self._folder.glob("*.cedar")):
            try:
                from daeri.boundary.cedar import CedarPolicy
            except ImportError as error:
                problem = "holds Cedar policies, and Cedar is not installed"
                fix = "Install daeri[cedar], or take the policies away."
                raise SettingsError("policy.folder", str(self._folder), problem, fix) from error
            self.cedar = CedarPolicy(self._folder, self._registry.tools)
            self._on_top = StrictestPolicy([self.rules, self.cedar])


@dataclass(frozen=True, slots=True)
class _There:
    """What a rule can be about."""

    tools: Sequence[Tool]
    tenants: Collection[str]


def _refuse_overlooked(folder: Path) -> None:
    """A policy where nobody looks would be one that its author trusts and that never denies."""
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() == ".cedar" and (file.parent != folder or file.suffix != ".cedar"):
            fix = f"Move it to {folder} and name it `*.cedar`, or rename it, or take it away."
            raise DefinitionError(str(file), "it would not be read: policies are `*.cedar` in the folder itself", fix)


def _rule(number: int, own: RuleSettings, there: _There) -> PolicyRule:
    return PolicyRule(
        name=own.name or f"rule-{number}",
        selector=_selector(f"policy.rules.{number}", own, there),
        risk=own.risk,
        approvals=own.approvals or 0,
        deny=own.deny,
        reason=own.reason,
    )


def _limit(number: int, own: CallLimitSettings, there: _There) -> CallLimit:
    return CallLimit(
        name=own.name or f"limit-{number}",
        selector=_selector(f"policy.limits.{number}", own, there),
        per=own.per,
        calls_per_minute=own.calls_per_minute,
        burst=own.burst or math.ceil(own.calls_per_minute or 1),
        concurrent=own.concurrent,
    )


def _selector(place: str, own: RuleSettings | CallLimitSettings, there: _There) -> Selector:
    """The calls it is about. One that selects no call at all is a slip of the pen that would leave a gate open."""
    selector = Selector(tool=own.tool, tag=own.tag, tenant=own.tenant)
    if own.tool is not None and not Selector(tool=own.tool).selects_any(there.tools):
        _check_tool(f"{place}.tool", own.tool, there.tools)
    if own.tag is not None and not Selector(tag=own.tag).selects_any(there.tools):
        tags = sorted({tag for tool in there.tools for tag in tool.tags})
        raise SettingsError(f"{place}.tag", own.tag, "there is no tool with this tag", _listed("Tags", tags))
    if own.tag is not None and not selector.selects_any(there.tools):
        tagged = sorted(tool.name for tool in there.tools if own.tag in tool.tags)
        problem = f"no tool that {own.tool!r} names has this tag"
        raise SettingsError(f"{place}.tag", own.tag, problem, _listed("Tools with it that", tagged))
    if own.tenant is not None and own.tenant not in there.tenants:
        fix = f"{_listed('Tenants', sorted(there.tenants))} `tenant` and `[principals.NAME]` name them."
        raise SettingsError(f"{place}.tenant", own.tenant, "there is no tenant of this name", fix)
    return selector


def _check_tool(place: str, name: str, tools: Sequence[Tool]) -> None:
    names = [tool.name for tool in tools]
    if name not in names:
        near = closest_names(name, names)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`daeri tools list` shows all."
        raise SettingsError(place, name, "there is no tool of this name", hint)


def _listed(what: str, names: Iterable[str]) -> str:
    return f"{what} there are: {', '.join(names) or 'none'}."


def _event(kind: str, tenant: str, actor: str, data: JsonObject) -> AuditEvent:
    return AuditEvent(tenant=tenant, kind=kind, actor=actor, at=datetime.now(UTC), subject=_SUBJECT, data=data)
