"""Tool scopes: `records:read`, and `records:*` for all below `records`."""

from __future__ import annotations

from collections.abc import Iterable


def granted(scope: str, held: Iterable[str]) -> bool:
    """Whether a holder of `held` has `scope`. `*` holds everything, `a:*` holds `a:b` and `a:b:c` but not `a`."""
    return any(own == scope or own == "*" or (own.endswith(":*") and scope.startswith(own[:-1])) for own in held)


def missing_scopes(required: Iterable[str], held: Iterable[str]) -> tuple[str, ...]:
    """The required scopes that `held` doesn't grant, sorted."""
    own = tuple(held)
    return tuple(sorted(scope for scope in required if not granted(scope, own)))
