"""Ready tools: calculator, files, knowledge, text, documents."""

from ._builtin import builtin_tools
from ._config import ToolkitConfig

__all__ = ["ToolkitConfig", "builtin_tools"]
