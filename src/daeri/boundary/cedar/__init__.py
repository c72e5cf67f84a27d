"""Policies in Cedar, on top of the built-in ones. Needs the extra `cedar`; loaded only where there are policy files."""

from ._policy import CedarPolicy
from ._rules import CedarRule

__all__ = ["CedarPolicy", "CedarRule"]
