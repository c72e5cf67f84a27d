"""Exact arithmetic on written expressions: read, canonical form, value; no `eval` anywhere."""

from ._evaluation import Result, evaluate
from ._numbers import MAX_DIGITS, MAX_EXPONENT, SHOWN_DIGITS
from ._parser import MAX_DEPTH
from ._tokens import MAX_LENGTH

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_EXPONENT", "MAX_LENGTH", "SHOWN_DIGITS", "Result", "evaluate"]
