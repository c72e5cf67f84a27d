"""A tool of this project. Every function with `@tool` in a module that daeri.toml lists can be called by agents."""

from datetime import date, timedelta

from daeri import ToolError, tool

SATURDAY = 5


@tool(name="workdays.count", scopes=["workdays:read"], read_only=True)
def count(start: date, end: date) -> int:
    """Count the working days, Monday to Friday, between two dates; both count (business days).

    Args:
        start: First day, such as 2026-12-01.
        end: Last day, such as 2026-12-31.
    """
    if end < start:
        raise ToolError(f"{end} is before {start}.")
    weeks, rest = divmod((end - start).days + 1, 7)
    return weeks * 5 + sum((start + timedelta(days=day)).weekday() < SATURDAY for day in range(rest))
