"""As whom a person at the command line acts: the user of the operating system, or a principal that settings declare."""

from __future__ import annotations

import getpass
import os

from daeri.errors import NotFoundError
from daeri.identity import Principal
from daeri.settings import Settings


def local_principal(settings: Settings) -> Principal:
    """The user of the operating system as a principal."""
    return Principal(
        tenant=settings.tenant,
        subject=f"os:{_user()}",
        scopes=frozenset(settings.cli.scopes),
        roles=frozenset(settings.cli.roles),
    )


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


def _user() -> str:
    try:
        import pwd
    except ImportError:  # not POSIX
        return getpass.getuser()
    try:
        # not getpass: it believes $LOGNAME and $USER, which anybody may set to anybody's name
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number that has no name
        return str(os.getuid())
