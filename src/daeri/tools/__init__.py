"""What can be called: tools, where they come from, and the registry that knows them all."""

from ._defaults import settled, with_defaults
from ._function import ArgumentsError, FunctionTool, ResultError, tool
from ._json_text import JsonTextError, parse_json
from ._limits import MAX_BYTES, MAX_DEPTH, check_limits
from ._loading import LoadedTools, load_tools
from ._names import allows, check_name, closest_names
from ._problem import SchemaProblem
from ._provider import ToolContext, ToolProvider
from ._python_tools import PythonTools
from ._registry import ToolRegistry
from ._resilience import Resilience, StaticAnswer
from ._search import Described, ToolIndex
from ._strict import StrictSchemaError, strict_schema
from ._tool import RISKS, Annotations, Risk, Tool
from ._upstream import NotSentError, UpstreamError
from ._validate import SchemaValidator, ToolValidators

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "RISKS",
    "Annotations",
    "ArgumentsError",
    "Described",
    "FunctionTool",
    "JsonTextError",
    "LoadedTools",
    "NotSentError",
    "PythonTools",
    "Resilience",
    "ResultError",
    "Risk",
    "SchemaProblem",
    "SchemaValidator",
    "StaticAnswer",
    "StrictSchemaError",
    "Tool",
    "ToolContext",
    "ToolIndex",
    "ToolProvider",
    "ToolRegistry",
    "ToolValidators",
    "UpstreamError",
    "allows",
    "check_limits",
    "check_name",
    "closest_names",
    "load_tools",
    "parse_json",
    "settled",
    "strict_schema",
    "tool",
    "with_defaults",
]
