"""Whom a person at the command line can act as: the principals that settings declare."""

from __future__ import annotations

from daeri.errors import NotFoundError
from daeri.identity import Principal
from daeri.settings import Settings

from ._daeri import local_principal


def principal_named(settings: Settings, name: str) -> Principal:
    """The principal `[principals.NAME]`; `via` says which user of the operating system acts as it.

    Raises:
        NotFoundError: the settings declare none of this name.
    """
    declared = settings.principals.get(name)
    if declared is None:
        there = ", ".join(sorted(settings.principals))
        hint = f"There are: {there}." if there else f"Declare it in daeri.toml: [principals.{name}]."
        raise NotFoundError("principal", name, hint)
    return Principal(
        tenant=declared.tenant or settings.tenant,
        subject=name,
        scopes=frozenset(declared.scopes),
        roles=frozenset(declared.roles),
        via=local_principal(settings).subject,
    )
