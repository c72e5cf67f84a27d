"""이 프로젝트의 도구. daeri.toml에 적힌 모듈에서 `@tool`이 붙은 함수를 에이전트가 부를 수 있습니다."""

from datetime import date, timedelta

from daeri import ToolError, tool

SATURDAY = 5


@tool(name="workdays.count", scopes=["workdays:read"], read_only=True)
def count(start: date, end: date) -> int:
    """두 날짜 사이의 영업일(월요일~금요일)이 며칠인지 셉니다. 두 날짜도 포함합니다 (working days, business days).

    Args:
        start: 시작일, 예: 2026-12-01.
        end: 종료일, 예: 2026-12-31.
    """
    if end < start:
        raise ToolError(f"종료일 {end}이(가) 시작일 {start}보다 빠릅니다.")
    weeks, rest = divmod((end - start).days + 1, 7)
    return weeks * 5 + sum((start + timedelta(days=day)).weekday() < SATURDAY for day in range(rest))
