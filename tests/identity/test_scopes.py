from __future__ import annotations

import pytest

from daeri.identity import granted, missing_scopes


@pytest.mark.parametrize("held", ["records:read", "records:*", "*"])
def test_a_scope_is_granted_by_itself_by_any_star_above_it_and_by_the_star(held: str) -> None:
    assert granted("records:read", [held])


@pytest.mark.parametrize(
    "held", ["records", "records:write", "records:read:all", "record:*", "records:rea*", "re*", ""]
)
def test_nothing_else_grants_it(held: str) -> None:
    assert not granted("records:read", [held])


def test_a_star_grants_every_level_below_but_not_its_own_name() -> None:
    assert granted("records:hr:read", ["records:*"])
    assert not granted("records", ["records:*"])


def test_a_narrower_star_does_not_grant_a_wider_one() -> None:
    assert not granted("records:*", ["records:hr:*"])
    assert not granted("*", ["records:*"])


def test_all_required_scopes_that_are_not_held_are_missing_in_order() -> None:
    assert missing_scopes(["z:1", "b:2", "a:1"], ["b:*"]) == ("a:1", "z:1")


def test_the_held_scopes_may_come_from_a_generator() -> None:
    assert missing_scopes(["a:1", "b:1"], (scope for scope in ["a:1", "b:1"])) == ()
