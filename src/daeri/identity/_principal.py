"""The principal: built from a credential, never from what a model or a caller writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ._scopes import granted

PrincipalKind = Literal["user", "service", "agent"]
Role = Literal["user", "operator", "approver", "auditor", "admin"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """Who is asking: the tenant and subject that every record carries, and the rights that policy weighs."""

    tenant: str
    subject: str
    kind: PrincipalKind = "user"
    scopes: frozenset[str] = frozenset()
    roles: frozenset[Role] = frozenset()
    on_behalf_of: Principal | None = None
    """The person for whom an agent acts."""
    via: str | None = None
    """Who really sits at the machine, when somebody there acts as this principal."""

    @property
    def person(self) -> Principal:
        """The one at the start of the chain: who answers for this call."""
        return self if self.on_behalf_of is None else self.on_behalf_of.person

    def acting_as(self, agent: str, scopes: Iterable[str] | None = None) -> Principal:
        """This principal seen through an agent: never wider than either (scopes `None` adds no limit)."""
        return Principal(
            tenant=self.tenant,
            subject=f"agent:{agent}",
            kind="agent",
            scopes=self.scopes if scopes is None else _intersection(self.scopes, scopes),
            on_behalf_of=self,
        )

    def restricted_to(self, scopes: Iterable[str]) -> Principal:
        """The same principal with at most `scopes`."""
        return replace(self, scopes=_intersection(self.scopes, scopes))


def _intersection(held: Iterable[str], wanted: Iterable[str]) -> frozenset[str]:
    own, other = frozenset(held), frozenset(wanted)
    return frozenset({s for s in own if granted(s, other)} | {s for s in other if granted(s, own)})
