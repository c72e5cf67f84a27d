"""Who asked, read back from the record, and the people that stand behind an ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from daeri.identity import Principal, PrincipalKind, Role
from daeri.text import Json, JsonObject


def principal_of(stored: JsonObject) -> Principal:
    """The principal that `principal_json` wrote down."""
    behalf, via = stored.get("on_behalf_of"), stored.get("via")
    return Principal(
        tenant=str(stored["tenant"]),
        subject=str(stored["subject"]),
        kind=cast("PrincipalKind", stored["kind"]),
        scopes=frozenset(_texts(stored["scopes"])),
        roles=cast("frozenset[Role]", frozenset(_texts(stored["roles"]))),
        on_behalf_of=principal_of(behalf) if isinstance(behalf, Mapping) else None,
        via=via if isinstance(via, str) else None,
    )


def subjects_of(principal: Principal) -> tuple[str, ...]:
    """Everybody in the chain, from the one that acts to the person at its start."""
    own = (principal.subject,)
    return own if principal.on_behalf_of is None else (*own, *subjects_of(principal.on_behalf_of))


def people_behind(principal: Principal) -> frozenset[str]:
    """Everybody who stands behind an ask: the chain, and who really sat at the machine."""
    own = frozenset({principal.subject} if principal.via is None else {principal.subject, principal.via})
    return own if principal.on_behalf_of is None else own | people_behind(principal.on_behalf_of)


def _texts(values: Json) -> Sequence[str]:
    return [str(value) for value in values] if isinstance(values, Sequence) else []
