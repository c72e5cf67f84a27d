"""What can be called: tools, where they come from, and the registry that knows them all."""

from ._provider import ToolContext, ToolProvider
from ._tool import RISKS, Annotations, Risk, Tool

__all__ = ["RISKS", "Annotations", "Risk", "Tool", "ToolContext", "ToolProvider"]
