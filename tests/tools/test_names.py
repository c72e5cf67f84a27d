import pytest

from daeri.tools import allows, closest_names

NAMES = ["calculator", "files.read", "files.write", "knowledge.lookup"]


@pytest.mark.parametrize(
    ("allowed", "name", "through"),
    [
        (None, "files.read", True),
        (frozenset[str](), "files.read", False),
        ({"files.read"}, "files.read", True),
        ({"files.read"}, "files.read2", False),
        ({"files.*"}, "files.read", True),
        ({"files.*"}, "files", False),
        ({"files.*"}, "filesystem.read", False),
        ({"files*"}, "files.read", False),
        ({"*"}, "anything.at.all", True),
    ],
)
def test_an_allow_list_lets_through_what_it_names_and_nothing_like_it(
    allowed: set[str] | None, name: str, through: bool
) -> None:
    assert allows(allowed, name) is through


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("calculater", ("calculator",)),
        ("Calculator", ("calculator",)),
        ("read", ("files.read",)),
        ("lookup", ("knowledge.lookup",)),
        ("zzz", ()),
    ],
)
def test_the_name_that_was_meant_is_found(name: str, near: tuple[str, ...]) -> None:
    assert closest_names(name, NAMES, 1) == near
