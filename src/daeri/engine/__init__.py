"""The agent loop and the vocabulary of what happens in a run."""

from ._agent import DEFAULT_INSTRUCTIONS, Agent, Limits
from ._engine import Engine
from ._events import (
    Answered,
    AnswerKind,
    AnswerReleased,
    BlockCompleted,
    CallEvent,
    CallRepeated,
    ContextTrimmed,
    EndReason,
    JournaledEvent,
    LiveEvent,
    ModelFailed,
    ModelReplied,
    ReasoningDraft,
    RunEnded,
    RunEvent,
    RunEventBody,
    RunStarted,
    RunWaiting,
    TextDraft,
    TextRestarted,
    ToolProgress,
    UnknownEvent,
)
from ._journal import ENVELOPE_VERSION, decode_event, encode_event
from ._model_turn import RetryPolicy
from ._ports import ENDED, JournalEvent, RunKind, RunRow, RunState, RunStore
from ._progress import fold_run
from ._result import CallSummary, RunResult
from ._run import Run

__all__ = [
    "DEFAULT_INSTRUCTIONS",
    "ENDED",
    "ENVELOPE_VERSION",
    "Agent",
    "AnswerKind",
    "AnswerReleased",
    "Answered",
    "BlockCompleted",
    "CallEvent",
    "CallRepeated",
    "CallSummary",
    "ContextTrimmed",
    "EndReason",
    "Engine",
    "JournalEvent",
    "JournaledEvent",
    "Limits",
    "LiveEvent",
    "ModelFailed",
    "ModelReplied",
    "ReasoningDraft",
    "RetryPolicy",
    "Run",
    "RunEnded",
    "RunEvent",
    "RunEventBody",
    "RunKind",
    "RunResult",
    "RunRow",
    "RunStarted",
    "RunState",
    "RunStore",
    "RunWaiting",
    "TextDraft",
    "TextRestarted",
    "ToolProgress",
    "UnknownEvent",
    "decode_event",
    "encode_event",
    "fold_run",
]
