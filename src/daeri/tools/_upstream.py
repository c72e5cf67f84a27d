"""What a tool raises when the system behind it could not be reached; it says what may be tried again."""

from __future__ import annotations

from daeri.errors import ToolError


class UpstreamError(ToolError):
    """The system behind the tool can't be reached or broke off; it may have carried out what it was asked.

    Without a `user_message` people get the fixed text for this. `retry_after_s` is what the system asked for.
    """

    def __init__(self, diagnostic: str, *, user_message: str = "", retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(user_message, diagnostic=diagnostic)


class NotSentError(UpstreamError):
    """Certainly nothing of the whole call reached the system, or it turned it away unread; trying again is safe.

    Even a transfer of money is then tried again, so raise it only for what can't be otherwise: no connection could be
    made, no place was free in the pool. Not for a second request after a first one that got through.
    """
