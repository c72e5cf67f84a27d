"""The one composition root: builds `Daeri` from settings."""

from ._agents import CARD, INSTRUCTIONS, load_agent, load_agents
from ._daeri import DATABASE, Daeri, local_principal

__all__ = ["CARD", "DATABASE", "INSTRUCTIONS", "Daeri", "load_agent", "load_agents", "local_principal"]
