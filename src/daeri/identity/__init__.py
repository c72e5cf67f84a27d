"""Who is asking, and with which rights."""

from ._principal import Principal, PrincipalKind, Role
from ._scopes import granted, missing_scopes

__all__ = ["Principal", "PrincipalKind", "Role", "granted", "missing_scopes"]
