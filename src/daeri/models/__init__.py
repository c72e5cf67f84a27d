"""Models: the port, the providers behind it, and the embedded planner.

Nothing here loads a provider's library until `build_model` builds a model that needs it.
"""

from ._choice import DEFAULT_OPENAI_MODEL, ChoiceReason, ModelChoice, build_model, choose_model
from ._local import LOCAL_SERVERS, LocalServer
from ._port import (
    Block,
    CallAnswer,
    Finish,
    Model,
    ModelCall,
    ModelEvent,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolSpec,
    Usage,
)
from ._script import ScriptedCall, ScriptedError, ScriptedTurn, ScriptModel
from ._settings import ModelKind, ModelReference, ModelSettings, parse_model
from ._usage import PriceTable, estimate_usage

__all__ = [
    "DEFAULT_OPENAI_MODEL",
    "LOCAL_SERVERS",
    "Block",
    "CallAnswer",
    "ChoiceReason",
    "Finish",
    "LocalServer",
    "Model",
    "ModelCall",
    "ModelChoice",
    "ModelEvent",
    "ModelKind",
    "ModelReference",
    "ModelReply",
    "ModelRequest",
    "ModelSettings",
    "PriceTable",
    "ReasoningDelta",
    "ScriptModel",
    "ScriptedCall",
    "ScriptedError",
    "ScriptedTurn",
    "TextDelta",
    "ToolSpec",
    "Usage",
    "build_model",
    "choose_model",
    "estimate_usage",
    "parse_model",
]
