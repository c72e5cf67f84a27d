"""The one composition root: builds `Daeri` from settings."""

from ._agents import CARD, INSTRUCTIONS, load_agent, load_agents
from ._audit import CHECKPOINTS, KEYS, AuditKeeper, verify_audit
from ._daeri import DATABASE, Daeri
from ._orphans import present
from ._policy import Policies
from ._principals import local_principal, principal_named

__all__ = [
    "CARD",
    "CHECKPOINTS",
    "DATABASE",
    "INSTRUCTIONS",
    "KEYS",
    "AuditKeeper",
    "Daeri",
    "Policies",
    "load_agent",
    "load_agents",
    "local_principal",
    "present",
    "principal_named",
    "verify_audit",
]
