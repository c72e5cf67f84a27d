"""Who may see a request for approval; to everybody else it is not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from daeri.errors import NotFoundError
from daeri.identity import Principal, Role

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office, People

Who = Callable[["People"], Principal]


def _has(role: str) -> Who:
    return lambda people: Principal(tenant="acme", subject="user:choi", roles=frozenset({cast("Role", role)}))


_SEE: dict[str, Who] = {
    "who asked": lambda people: people.kim,
    "the agent that asked": lambda people: people.kim.acting_as("bot"),
    "who could approve it": lambda people: people.lee,
    "who could approve it by a tag": lambda people: replace(people.lee, scopes=frozenset({"approve:tag:money"})),
    "an auditor": _has("auditor"),
    "an operator": _has("operator"),
    "an admin": _has("admin"),
}
_DO_NOT: dict[str, Who] = {
    "a colleague": lambda people: replace(people.kim, subject="user:choi", scopes=frozenset({"*"})),
    "an approver of other tools": lambda people: replace(people.lee, scopes=frozenset({"approve:erase"})),
    "an approver without scopes": lambda people: replace(people.lee, scopes=frozenset()),
    "who has the scope and no role": lambda people: replace(people.lee, roles=frozenset()),
    "an agent of an approver": lambda people: people.lee.acting_as("helper"),
    "a service that may approve": lambda people: replace(people.lee, kind="service"),
    "an agent of somebody else": lambda people: people.park.acting_as("bot"),
    "a colleague at the same machine": lambda people: replace(people.kim, subject="user:choi", via="os:kim"),
}


@pytest.mark.parametrize("who", _SEE.values(), ids=_SEE.keys())
async def test_who_has_to_do_with_a_request_sees_it(office: Office, who: Who) -> None:
    approval_id = await office.waiting(principal=office.people.kim.acting_as("bot"))
    looking = who(office.people)

    assert (await office.desk.show(looking, approval_id[:9])).record.arguments == {"amount": 5}
    assert [one.record.approval_id for one in await office.desk.list(looking)] == [approval_id]


@pytest.mark.parametrize("who", _DO_NOT.values(), ids=_DO_NOT.keys())
async def test_to_everybody_else_it_looks_as_if_it_did_not_exist(office: Office, who: Who) -> None:
    approval_id = await office.waiting(principal=replace(office.people.kim, via="os:kim"))
    looking = who(office.people)

    with pytest.raises(NotFoundError) as hidden:
        await office.desk.show(looking, approval_id)
    with pytest.raises(NotFoundError) as absent:
        await office.desk.show(looking, "apr_nosuch")
    with pytest.raises(NotFoundError):
        await office.desk.list(looking, before=approval_id)

    assert str(hidden.value).replace(approval_id, "apr_nosuch") == str(absent.value)
    assert list(await office.desk.list(looking)) == []


async def test_a_page_is_full_however_many_requests_of_others_lie_between(office: Office) -> None:
    choi = replace(office.people.kim, subject="user:choi")
    own = [await office.waiting(arguments={"amount": number}, principal=choi) for number in range(2)]
    for number in range(120):
        await office.waiting(arguments={"amount": number})
    own.append(await office.waiting(arguments={"amount": 2}, principal=choi))

    first = [one.record.approval_id for one in await office.desk.list(choi, limit=2)]
    rest = [one.record.approval_id for one in await office.desk.list(choi, limit=2, before=first[-1])]

    assert len(first) == 2
    assert len(rest) == 1
    assert sorted(first + rest) == sorted(own)
