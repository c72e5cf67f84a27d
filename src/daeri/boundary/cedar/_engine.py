"""Cedar itself: one loaded set of policies, asked about calls.

Cedar keeps action groups among the entities and fills them in from the schema alone: entities that are built without
it make a `forbid` on a group vanish without a word. So entities are built with the schema in one place, and a canary
proves for every tool, before any call, that a `forbid` on the group of all tools denies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cedarpy

from daeri.errors import DefinitionError
from daeri.identity import Principal
from daeri.text import Json, JsonObject
from daeri.tools import Tool

from .._policy import PolicyQuestion
from ._binding import authorize, build_entities, build_policies
from ._rules import CedarRule, check_against
from ._schema import ALL_TOOLS, NAMESPACE, PRINCIPAL_TYPES, entities_of, request_of, schema_of, triple
from ._types import CedarType, UnfitError, record_of

_BASE = "base"
_BASE_PERMIT: JsonObject = {
    "effect": "permit",
    "principal": {"op": "All"},
    "action": {"op": "All"},
    "resource": {"op": "All"},
    "conditions": [],
}
_CANARY: JsonObject = {
    **_BASE_PERMIT,
    "effect": "forbid",
    "action": {"op": "in", "entity": {"type": f"{NAMESPACE}::Action", "id": ALL_TOOLS}},
}
_ENTITIES_KEPT = 2_000
_POLICY_NAMED = re.compile(r"policy `(r\d+)`")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a set of policies says about a call: who forbids it, and whether that is all there is to say."""

    forbidding: tuple[CedarRule, ...] = ()
    failed: str | None = None
    """Why it could not be decided. Holds no argument values: Cedar's own words do, and this goes into the record."""


class CedarEngine:
    """All policies over all tools, checked against each other when it is made; then it never changes."""

    def __init__(self, tools: Sequence[Tool], rules: Sequence[CedarRule]) -> None:
        """Check everything that can be checked before a call.

        Raises:
            DefinitionError: a policy does not fit the tools, or Cedar does not deny what it must deny.
        """
        self.rules = tuple(rules)
        self._schema = _parse_schema(schema_of(tools))
        for rule in rules:
            check_against(self._schema, rule)
        self._tools = {tool.name: tool for tool in tools}
        self._arguments: dict[str, CedarType] = {tool.name: record_of(tool.input_schema) for tool in tools}
        self._named = {f"r{number}": rule for number, rule in enumerate(rules)}
        self._enforced = self._policies(log_only=False)
        self._logged = self._policies(log_only=True) if any(rule.log_only for rule in rules) else None
        self._entities = lru_cache(maxsize=_ENTITIES_KEPT)(self._build_entities)
        self._prove_that_groups_hold()

    @property
    def schema_text(self) -> str:
        """The schema as Cedar writes it, for those who write policies."""
        return str(self._schema)

    def ask(self, question: PolicyQuestion) -> tuple[Answer, Answer]:
        """What the enforced policies say, and what the log-only ones would."""
        tool = self._tools.get(question.tool.name)
        if tool is None or tool.definition_hash != question.tool.definition_hash:
            return Answer(failed="the tool is not the one that the policies were checked with"), Answer()
        try:
            request = request_of(question, self._arguments[tool.name])
            entities = self._entities(question.principal, tool.name)
        except UnfitError as error:
            return Answer(failed=str(error)), Answer()
        except ValueError:
            return Answer(failed="the call does not fit the schema of its tool"), Answer()
        logged = Answer() if self._logged is None else self._evaluate(request, self._logged, entities)
        return self._evaluate(request, self._enforced, entities), logged

    def _evaluate(self, request: dict[str, Json], policies: cedarpy.PolicySet, entities: cedarpy.Entities) -> Answer:
        result = authorize(request, policies, entities, self._schema)
        said = result.diagnostics
        if said.errors or result.decision is cedarpy.Decision.NoDecision:
            return Answer(failed=self._failure(said.errors))
        if result.decision is cedarpy.Decision.Allow:
            return Answer()
        named = sorted((str(name) for name in said.reasons), key=lambda name: int(name[1:]))
        if not named:
            return Answer(failed="Cedar denied it without a reason")
        return Answer(forbidding=tuple(self._named[name] for name in named))

    def _failure(self, errors: Sequence[str]) -> str:
        named = [self._named[name] for error in errors for name in _POLICY_NAMED.findall(error) if name in self._named]
        if not named:
            return "the call does not fit the schema of its tool"
        return f"policy {named[0].name!r} ({named[0].place}) failed on it"

    def _policies(self, *, log_only: bool) -> cedarpy.PolicySet:
        chosen = {name: rule.policy for name, rule in self._named.items() if rule.log_only is log_only}
        return build_policies({_BASE: _BASE_PERMIT, **chosen})

    def _build_entities(self, principal: Principal, tool: str) -> cedarpy.Entities:
        return build_entities(entities_of(principal, self._tools[tool]), self._schema)

    def _prove_that_groups_hold(self) -> None:
        policies = build_policies({_BASE: _BASE_PERMIT, "canary": _CANARY})
        for kind in PRINCIPAL_TYPES:
            principal = Principal(tenant="canary", subject="canary", kind=kind)
            entities = None
            for name, tool in self._tools.items():
                entities = entities or self._build_entities(principal, name)  # all hold the same action groups
                result = authorize(triple(principal, tool), policies, entities)
                if result.decision is not cedarpy.Decision.Deny or result.diagnostics.reasons != ["canary"]:
                    raise DefinitionError(
                        "Cedar",
                        f"a forbid on all tools does not deny {name!r}, so that no policy can be relied on",
                        "Install a release of cedarpy that daeri[cedar] names.",
                    )


def _parse_schema(schema: JsonObject) -> cedarpy.Schema:
    try:
        return cedarpy.Schema.from_json_str(json.dumps(schema))
    except ValueError as error:
        raise DefinitionError("the Cedar schema of the tools", f"can't be used: {error}") from error
