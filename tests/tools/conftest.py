"""A call's context and JSON values for the tests of tools."""

import pytest
from hypothesis import strategies as st

from daeri.identity import Principal
from daeri.text import Json
from daeri.tools import ToolContext


@pytest.fixture
def context() -> ToolContext:
    def ignore(_: str) -> None: ...

    return ToolContext(call_id="call-1", principal=Principal(tenant="acme", subject="kim"), locale="en", report=ignore)


@pytest.fixture(scope="session")
def json_values() -> st.SearchStrategy[Json]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    )
