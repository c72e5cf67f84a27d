"""`daeri policy explain`: what policy says about a call, which rules spoke, and what would change it. Nothing runs.

`--json` prints `{"tool", "principal", "decision": {"verdict", "rules", "reasons", "approvals_needed", "risk"},
"layers": {name: decision}, "limits": [name], "changes": [text]}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime

from daeri.boundary import Decision, PolicyQuestion, principal_json, strictest
from daeri.identity import missing_scopes
from daeri.runtime import Daeri, principal_named
from daeri.settings import Settings
from daeri.text import JsonObject, Locale, message, scrub
from daeri.tools import JsonTextError, Tool, parse_json, settled

from ._exit import ExitCode, UsageError
from ._lines import printable
from ._opening import locale_of, open_daeri, read_settings
from ._shapes import print_json


def explain_call(
    tool: str, arguments: str, modules: list[str], *, as_name: str | None, as_json: bool, lang: Locale | None
) -> int:
    """Print what policy says about a call.

    Raises:
        NotFoundError: no such tool, or no such principal.
        UsageError: the arguments are not a JSON object that fits the tool.
    """
    settings = read_settings(lang)
    given = _object_of(arguments, locale_of(settings))
    return asyncio.run(_explain(settings, tool, given, modules, as_name=as_name, as_json=as_json))


async def _explain(
    settings: Settings, name: str, arguments: JsonObject, modules: list[str], *, as_name: str | None, as_json: bool
) -> int:
    locale = locale_of(settings)
    async with open_daeri(settings, modules) as daeri:
        principal = daeri.principal if as_name is None else principal_named(settings, as_name)
        tool = daeri.registry.get(name)
        validators = daeri.registry.validators
        # as the door takes them, or this would judge another call
        arguments = settled(tool, arguments, validators)
        problem = validators.arguments(tool).problem(arguments)
        if problem is not None:
            raise UsageError(message("policy.explain.arguments", locale, problem=str(problem).rstrip(".")))
        question = PolicyQuestion(
            principal=principal, tool=tool, arguments=arguments, origin="cli", at=datetime.now(UTC)
        )
        explanation = _Explanation(daeri, question, locale)
    if as_json:
        print_json(explanation.object())
    else:
        print("\n".join(printable(line) for line in explanation.lines()))
    return ExitCode.SUCCEEDED


def _object_of(text: str, locale: Locale) -> JsonObject:
    try:
        value = scrub(parse_json(text))
    except JsonTextError as error:
        raise UsageError(message("policy.explain.not_json", locale, problem=error)) from None
    if not isinstance(value, Mapping):
        raise UsageError(message("policy.explain.not_an_object", locale))
    return value


class _Explanation:
    def __init__(self, daeri: Daeri, question: PolicyQuestion, locale: Locale) -> None:
        self._daeri = daeri
        self._question = question
        self._locale: Locale = locale
        self._layers = _layers(daeri, question)
        self._decision = strictest(self._layers.values())

    def object(self) -> Mapping[str, object]:
        return {
            "tool": self._question.tool.name,
            "principal": principal_json(self._question.principal),
            "decision": asdict(self._decision),
            "layers": {name: asdict(decision) for name, decision in self._layers.items()},
            "limits": self._limits(),
            "changes": list(self._changes()),
        }

    def lines(self) -> Iterator[str]:
        decision, who = self._decision, self._question.principal.subject
        verdict = message(f"cli.verdict.{decision.verdict}", self._locale)
        yield self._say("head", tool=self._question.tool.name, who=who, verdict=verdict, risk=decision.risk)
        for layer in self._layers.values():
            for rule in layer.rules:
                yield f"  {rule}"
            for reason in layer.reasons:
                yield f"    {reason}"
        if limits := self._limits():
            yield self._say("limits", names=", ".join(limits))
        if changes := list(self._changes()):
            yield self._say("changes")
            yield from (f"  - {change}" for change in changes)

    def _limits(self) -> list[str]:
        return [one.name for one in self._daeri.policies.limits.limits if one.selector.selects(self._question)]

    def _changes(self) -> Iterator[str]:
        who, tool = self._question.principal, self._question.tool
        if not tool.enabled:
            yield self._say("change.enable", tool=tool.name)
        missing = missing_scopes(tool.scopes, who.scopes)
        for scope in missing:
            yield self._say("change.scope", scope=scope, who=who.subject)
        if missing:
            verdict, needed = self._with_scopes(missing)
            yield self._say("change.then", verdict=verdict)
        else:
            needed = self._decision.approvals_needed
        yield from self._denying()
        if needed:
            yield self._say("change.approval", count=needed)

    def _with_scopes(self, missing: Iterable[str]) -> tuple[str, int]:
        """What the decision would be if the principal held what is missing."""
        who = self._question.principal
        holding = replace(who, scopes=who.scopes | frozenset(missing))
        then = strictest(_layers(self._daeri, replace(self._question, principal=holding)).values())
        return message(f"cli.verdict.{then.verdict}", self._locale), then.approvals_needed

    def _denying(self) -> Iterator[str]:
        """The rules of settings and files that deny."""
        policies = self._daeri.policies
        for rule in policies.rules.rules:
            if rule.deny and rule.selector.selects(self._question):
                yield self._say("change.setting", rule=rule.name)
        for rule in policies.cedar.rules if policies.cedar else ():
            if not rule.approvals and f"cedar.{rule.name}" in self._decision.rules:
                yield self._say("change.cedar", rule=rule.name, place=rule.place)

    def _say(self, key: str, **values: object) -> str:
        return message(f"policy.explain.{key}", self._locale, **values)


def _layers(daeri: Daeri, question: PolicyQuestion) -> Mapping[str, Decision]:
    asked = {name: layer.decide(question) for name, layer in daeri.policies.layers.items()}
    return asked if question.tool.enabled else {"registry": _disabled(question.tool), **asked}


def _disabled(tool: Tool) -> Decision:
    return Decision(verdict="deny", rules=("tool.unknown",), reasons=(f"{tool.name} is disabled",))
