"""Models: the port, the providers behind it, and the embedded planner."""

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

__all__ = [
    "Block",
    "CallAnswer",
    "Finish",
    "Model",
    "ModelCall",
    "ModelEvent",
    "ModelReply",
    "ModelRequest",
    "ReasoningDelta",
    "TextDelta",
    "ToolSpec",
    "Usage",
]
