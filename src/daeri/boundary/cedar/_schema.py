"""The Cedar schema of a registry: who may call which tool, with which arguments and facts.

Tool names are entity ids, which Cedar takes as they are, dots and Korean and all: `Daeri::Action::"급여.조회"`. Only
attribute names that are no identifiers are written in quotes: `context.args["지급일"]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC

from daeri.identity import Principal, PrincipalKind
from daeri.text import Json, JsonObject
from daeri.tools import RISKS, Tool

from .._policy import PolicyQuestion, effective_risk
from ._types import BOOLEAN, LONG, STRING, STRINGS, CedarType, record_of, value_in

NAMESPACE = "Daeri"
ALL_TOOLS = "*"
"""The action group that every tool is in; no tool can be called so."""
PRINCIPAL_TYPES: dict[PrincipalKind, str] = {"user": "User", "service": "Service", "agent": "Agent"}

_PRINCIPAL: dict[str, CedarType] = {
    "tenant": STRING,
    "scopes": STRINGS,
    "roles": STRINGS,
    "person": STRING,
    "person_roles": STRINGS,
}
_TOOL: dict[str, CedarType] = {
    "source": STRING,
    "risk": STRING,
    "risk_level": LONG,
    "tags": STRINGS,
    "scopes": STRINGS,
    "read_only": BOOLEAN,
    "destructive": BOOLEAN,
    "idempotent": BOOLEAN,
    "open_world": BOOLEAN,
}
_FACTS: dict[str, CedarType] = {
    "origin": STRING,
    "at": {"type": "Extension", "name": "datetime"},
    "agent": {**STRING, "required": False},
    "run_id": {**STRING, "required": False},
}


def schema_of(tools: Iterable[Tool]) -> JsonObject:
    """The schema, in Cedar's JSON format."""
    principals: dict[str, Json] = {name: {"shape": _record(_PRINCIPAL)} for name in PRINCIPAL_TYPES.values()}
    actions: dict[str, Json] = {tool.name: _action(tool) for tool in tools}
    return {
        NAMESPACE: {
            "entityTypes": {**principals, "Tool": {"shape": _record(_TOOL)}},
            "actions": {ALL_TOOLS: {}, **actions},
        }
    }


def entities_of(principal: Principal, tool: Tool) -> Json:
    """The two entities that a call is about, in Cedar's JSON format."""
    marks, risk = tool.annotations, effective_risk(tool)
    who: JsonObject = {
        "tenant": principal.tenant,
        "scopes": sorted(principal.scopes),
        "roles": sorted(principal.roles),
        "person": principal.person.subject,
        "person_roles": sorted(principal.person.roles),
    }
    what: JsonObject = {
        "source": tool.source,
        "risk": risk,
        "risk_level": RISKS.index(risk),
        "tags": sorted(tool.tags),
        "scopes": sorted(tool.scopes),
        "read_only": marks.read_only,
        "destructive": marks.destructive,
        "idempotent": marks.idempotent,
        "open_world": marks.open_world,
    }
    return [
        {"uid": principal_uid(principal), "attrs": who, "parents": []},
        {"uid": tool_uid(tool), "attrs": what, "parents": []},
    ]


def request_of(question: PolicyQuestion, arguments: CedarType) -> dict[str, Json]:
    """A call as a Cedar request.

    Raises:
        UnfitError: an argument that its Cedar type can't hold.
    """
    facts = {"agent": question.agent, "run_id": question.run_id}
    context: JsonObject = {
        "args": value_in(arguments, question.arguments),
        "origin": question.origin,
        "at": question.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **{name: value for name, value in facts.items() if value is not None},
    }
    return {**triple(question.principal, question.tool), "context": context}


def triple(principal: Principal, tool: Tool) -> dict[str, Json]:
    """Who wants to do what with what."""
    action = {"type": f"{NAMESPACE}::Action", "id": tool.name}
    return {"principal": principal_uid(principal), "action": action, "resource": tool_uid(tool)}


def principal_uid(principal: Principal) -> JsonObject:
    """The entity id of a principal."""
    return {"type": f"{NAMESPACE}::{PRINCIPAL_TYPES[principal.kind]}", "id": principal.subject}


def tool_uid(tool: Tool) -> JsonObject:
    """The entity id of a tool."""
    return {"type": f"{NAMESPACE}::Tool", "id": tool.name}


def _action(tool: Tool) -> JsonObject:
    principals = list(PRINCIPAL_TYPES.values())
    context = _record({"args": record_of(tool.input_schema), **_FACTS})
    return {
        "memberOf": [{"id": ALL_TOOLS}],
        "appliesTo": {"principalTypes": principals, "resourceTypes": ["Tool"], "context": context},
    }


def _record(attributes: Mapping[str, CedarType]) -> CedarType:
    return {"type": "Record", "attributes": attributes}
