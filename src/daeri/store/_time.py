"""Times as the tables hold them: whole microseconds since 1970-01-01 UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """The stored form.

    Raises:
        TypeError: a time without a zone, which names no moment.
    """
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The moment, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)
