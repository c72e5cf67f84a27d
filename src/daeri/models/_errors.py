"""What the provider library raises, as `ModelError`; nothing secret gets into a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from pydantic_ai import exceptions

from daeri.errors import ModelError, ModelErrorKind
from daeri.text import cut_middle, scrub_text

PROVIDER_ERRORS = (exceptions.AgentRunError, exceptions.UserError)
"""Everything that the provider library raises on purpose."""

# The first match speaks, so the more specific class stands before its base.
_KINDS: tuple[tuple[type[Exception], ModelErrorKind], ...] = (
    (exceptions.ModelTimeoutError, "timeout"),
    (exceptions.ModelRequestTimeout, "timeout"),
    (exceptions.ModelConnectionError, "connection"),
    (exceptions.ModelRateLimitError, "rate_limit"),
    (exceptions.ModelQuotaExceededError, "quota"),
    (exceptions.ModelUnavailableError, "overloaded"),
    (exceptions.ModelServerError, "server"),
    (exceptions.ModelContextWindowExceededError, "context_overflow"),
    (exceptions.ModelAuthenticationError, "authentication"),
    (exceptions.ModelRequestRejectedError, "bad_request"),
    (exceptions.UnexpectedModelBehavior, "server"),
    (exceptions.UserError, "bad_request"),
)
_DETAIL_LIMIT = 500
# What the library leaves open. A request that is too large for a gateway is helped by a smaller one.
_STATUSES: dict[int, ModelErrorKind] = {408: "timeout", 409: "server", 413: "context_overflow", 425: "server"}
_SHORTEST_SECRET = 4
_REDACTED = "[redacted]"
_CREDENTIALS = re.compile(
    r"(?i)(\bbearer\s+|\bbasic\s+|\bapi[-_ ]?key[\"']?\s*[:=]\s*[\"']?)[^\s\"',}]+|\bsk-[\w*-]{6,}"
)
_PASSWORD_IN_URL = re.compile(r"(//[^/\s:@]*:)[^/\s@]+(?=@)")
# llama.cpp and vLLM say it in their own words.
_OVERFLOW = re.compile(r"(?i)exceed\w*[ _](?:the )?(?:available )?context|context (?:length|size|window)")


def model_error(error: Exception, model: str, *, endpoint: str = "", secrets: Iterable[str] = ()) -> ModelError:
    """The failure in our terms. Raise it outside of the `except` block: `error` may carry secrets in its body."""
    detail = redact(_detail(error, endpoint), secrets)
    return ModelError(
        _kind(error, detail),
        model,
        cut_middle(detail, _DETAIL_LIMIT).text,
        status=error.status_code if isinstance(error, exceptions.ModelHTTPError) else None,
        retry_after_s=error.retry_after if isinstance(error, exceptions.ModelAPIError) else None,
    )


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without the given secrets and without anything else that looks like a credential."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _REDACTED)
    text = _CREDENTIALS.sub(lambda found: (found[1] or "") + _REDACTED, scrub_text(text))
    return _PASSWORD_IN_URL.sub(lambda found: found[1] + _REDACTED, text)


def _kind(error: Exception, detail: str) -> ModelErrorKind:
    for errors, kind in _KINDS:
        if isinstance(error, errors):
            return "context_overflow" if kind == "bad_request" and _OVERFLOW.search(detail) else kind
    if isinstance(error, exceptions.ModelHTTPError):
        return _STATUSES.get(error.status_code, "bad_request")
    # An error object in the stream is the server's word; a stream without an end, or no JSON at all, was cut.
    in_stream = isinstance(error, exceptions.ModelAPIError) and error.in_stream
    return "server" if in_stream else "connection"


def _detail(error: Exception, endpoint: str) -> str:
    if isinstance(error, exceptions.ModelConnectionError):
        return f"{_root_cause(error)} ({endpoint})"
    body = error.body if isinstance(error, exceptions.ModelAPIError) else None
    return _said(body) or str(error) or type(error).__name__


def _root_cause(error: BaseException) -> str:
    """What went wrong at the bottom: the library itself only says that there was a connection error."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _said(body: object) -> str | None:
    """The message in the body of an error, with or without the envelope around it."""
    if not isinstance(body, Mapping):
        return body if isinstance(body, str) else None
    fields = cast("Mapping[str, object]", body)
    return _said(fields.get("message") or fields.get("error"))
