"""`daeri policy check`: whether policies can be used, and which there are.

`--json` prints `{"rules": [...], "loosened": [...], "limits": [...], "cedar": [{"name", "place", "approvals",
"log_only", "reason"}], "unseen": [{"tool", "arguments"}]}`; rules, loosened tools and limits as in `daeri.toml`.
`unseen` lists arguments that Cedar has no type for. `--schema` prints the Cedar schema of the tools alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from daeri.boundary import CallLimit, PolicyRule, Selector
from daeri.runtime import Daeri, Policies
from daeri.settings import Settings
from daeri.text import Locale, message

from ._exit import ExitCode, UsageError
from ._opening import locale_of, open_daeri, read_settings
from ._shapes import print_json
from ._table import print_table

PROJECT_FILE = "daeri.toml"


def check_policies(modules: list[str], *, schema: bool, as_json: bool, lang: Locale | None) -> int:
    """Print all policies, rules and limits; whatever can't be used has stopped the start already.

    Raises:
        UsageError: a schema is wanted and there are no Cedar policies.
    """
    return asyncio.run(_check(read_settings(lang), modules, schema=schema, as_json=as_json))


async def _check(settings: Settings, modules: list[str], *, schema: bool, as_json: bool) -> int:
    locale = locale_of(settings)
    async with open_daeri(settings, modules) as daeri:
        pass  # that it opens is the check
    if schema:
        print(_schema(daeri.policies, settings, locale))
    elif as_json:
        print_json(_object(daeri))
    else:
        _print(daeri, locale)
    return ExitCode.SUCCEEDED


def _schema(policies: Policies, settings: Settings, locale: Locale) -> str:
    if policies.cedar is None:
        raise UsageError(message("policy.no_cedar", locale, folder=settings.policy.folder))
    return policies.cedar.schema_text


def _object(daeri: Daeri) -> Mapping[str, object]:
    own, policies = daeri.settings.policy.model_dump(mode="json"), daeri.policies
    rules = zip(own["rules"], policies.rules.rules, strict=True)
    limits = zip(own["limits"], policies.limits.limits, strict=True)
    return {
        "rules": [{**one, "name": rule.name} for one, rule in rules],
        "loosened": [{"tool": tool, **one} for tool, one in own["loosen"].items()],
        "limits": [{**one, "name": limit.name} for one, limit in limits],
        "cedar": [
            {
                "name": rule.name,
                "place": rule.place,
                "approvals": rule.approvals,
                "log_only": rule.log_only,
                "reason": rule.reason,
            }
            for rule in (policies.cedar.rules if policies.cedar else ())
        ],
        "unseen": [{"tool": tool, "arguments": names} for tool, names in policies.unseen.items()],
    }


def _print(daeri: Daeri, locale: Locale) -> None:
    policies = daeri.policies
    rows = [(f"built_in.{name}", message(f"policy.built_in.{name}", locale), "*", "") for name in ("scope", "risk")]
    rows += [
        ("setting.loosened", f"risk <= {one.risk}: {one.reason}", tool, f"{PROJECT_FILE} [policy.loosen]")
        for tool, one in daeri.settings.policy.loosen.items()
    ]
    rows += [
        (f"settings.{rule.name}", _rule(rule, locale), _about(rule.selector), f"{PROJECT_FILE} [[policy.rules]]")
        for rule in policies.rules.rules
    ]
    rows += [
        (f"cedar.{rule.name}", _effect(rule.approvals, locale, log_only=rule.log_only), rule.reason or "-", rule.place)
        for rule in (policies.cedar.rules if policies.cedar else ())
    ]
    rows += [
        (f"limit.{limit.name}", _limit(limit, locale), _about(limit.selector), f"{PROJECT_FILE} [[policy.limits]]")
        for limit in policies.limits.limits
    ]
    print(message("policy.check.sound", locale, count=len(rows)))
    print_table([message(f"policy.column.{name}", locale) for name in ("name", "effect", "about", "place")], rows)
    for tool, names in policies.unseen.items():
        print(message("policy.check.unseen", locale, tool=tool, names=", ".join(names)))


def _rule(rule: PolicyRule, locale: Locale) -> str:
    effects = [f"risk >= {rule.risk}"] if rule.risk else []
    if rule.approvals:
        effects.append(_effect(rule.approvals, locale))
    if rule.deny:
        effects.append(_effect(0, locale))
    return ", ".join(effects)


def _effect(approvals: int, locale: Locale, *, log_only: bool = False) -> str:
    asks = message("policy.effect.approvals", locale, count=approvals)
    effect = asks if approvals else message("policy.effect.deny", locale)
    return message("policy.effect.log_only", locale, effect=effect) if log_only else effect


def _limit(limit: CallLimit, locale: Locale) -> str:
    numbers: list[str] = []
    if limit.calls_per_minute is not None:
        numbers.append(message("policy.effect.rate", locale, count=f"{limit.calls_per_minute:g}"))
    if limit.concurrent is not None:
        numbers.append(message("policy.effect.concurrent", locale, count=limit.concurrent))
    if limit.per:
        numbers.append(message("policy.effect.per", locale, parts=", ".join(limit.per)))
    return ", ".join(numbers)


def _about(selector: Selector) -> str:
    named = {"": selector.tool, "tag ": selector.tag, "tenant ": selector.tenant}
    return ", ".join(f"{what}{name}" for what, name in named.items() if name is not None) or "*"
