"""The command `daeri`, one module per noun."""

from ._app import main

__all__ = ["main"]
