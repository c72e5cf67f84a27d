"""The calls into cedarpy that it leaves half typed, typed."""

from __future__ import annotations

import json
from typing import Any

import cedarpy

from daeri.text import Json, JsonObject

_cedar: Any = cedarpy


def authorize(
    request: dict[str, Json],
    policies: cedarpy.PolicySet,
    entities: cedarpy.Entities,
    schema: cedarpy.Schema | None = None,
) -> cedarpy.AuthzResult:
    """Cedar's answer; with a schema the request is checked with it first."""
    return _cedar.is_authorized(request, policies, entities, schema)


def build_entities(entities: Json, schema: cedarpy.Schema) -> cedarpy.Entities:
    """Entities with the action groups of the schema. Without it there would be none, and no error.

    Raises:
        ValueError: they do not fit the schema.
    """
    return _cedar.Entities.from_json_str(json.dumps(entities), schema)


def build_policies(policies: dict[str, Json]) -> cedarpy.PolicySet:
    """A set of policies under the names that answers will give.

    Raises:
        ValueError: one can't be used.
    """
    document: JsonObject = {"templates": {}, "staticPolicies": policies, "templateLinks": []}
    return cedarpy.PolicySet.from_json_str(json.dumps(document))


def misfits(policy: str, schema: cedarpy.Schema) -> list[str]:
    """What of a policy does not fit the schema."""
    found: cedarpy.ValidationResult = _cedar.validate_policies(policy, schema)
    if found.validation_passed:
        return []
    return [error.error.partition("`, ")[2] or error.error for error in found.errors] or ["does not fit the schema"]
