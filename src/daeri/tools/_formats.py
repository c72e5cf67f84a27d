"""The date and time formats that Daeri checks, and an example of each format for those who have to write one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time

_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}:\d{2}(\.\d{1,6})?"
_ZONE = r"([Zz]|[+-]\d{2}:\d{2})?"

_DURATION = re.compile(
    r"-?P(?=.)(\d{1,7}Y)?(\d{1,6}M)?(\d{1,6}W)?(\d{1,9}D)?(T(?=\d)(\d{1,9}H)?(\d{1,9}M)?(\d{1,9}(\.\d{1,6})?S)?)?",
    re.ASCII,
)


def _checker(pattern: str, parse: Callable[[str], object]) -> Callable[[str], bool]:
    whole = re.compile(pattern, re.ASCII)

    def check(text: str) -> bool:
        if not whole.fullmatch(text):
            return False
        try:
            parse(text.upper())
        except ValueError:
            return False
        return True

    return check


# RFC 3339 asks for an offset, and its durations know no sign and no fraction. Python's dates, most APIs and most
# people leave the offset out for local time, and a `timedelta` has both.
FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _checker(_DATE, date.fromisoformat),
    "time": _checker(_TIME + _ZONE, time.fromisoformat),
    "date-time": _checker(f"{_DATE}[Tt ]{_TIME}{_ZONE}", datetime.fromisoformat),
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
}
"""Checks that replace the validator's own: what passes is also a Python `date`, `time`, `datetime` or `timedelta`."""

EXAMPLES = {
    "date": "2026-03-31",
    "time": "09:30:00",
    "date-time": "2026-03-31T09:30:00+09:00",
    "duration": "PT1H30M",
    "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "email": "name@example.com",
    "uri": "https://example.com/page",
    "ipv4": "192.0.2.1",
}
"""How a text of a format looks."""
