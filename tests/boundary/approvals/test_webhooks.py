"""Messages about requests for approval: kept with the step itself, signed, tried again, given up in the end."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import Webhook, WebhookCourier, signature
from daeri.errors import StoreError

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office, OpenOffice

SECRET = "shared secret"


@dataclass
class Receiver:
    """A server that keeps what it gets and answers as it is told."""

    url: str = ""
    answer: int = 204
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list[tuple[dict[str, str], bytes]])

    def kinds(self) -> list[str]:
        return [json.loads(body)["kind"] for _, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.got.append((dict(self.headers.items()), body))
            self.send_response(kept.answer)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}/hook"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield kept
        server.shutdown()
        thread.join()


@dataclass(kw_only=True)
class Post:
    """A courier and the clock it goes by."""

    courier: WebhookCourier
    office: Office

    async def round(self, after: timedelta = timedelta()) -> int:
        self.office.now += after
        return await self.courier.deliver_due()

    def outbox(self) -> list[tuple[str, int, str]]:
        rows = self.office.rows("SELECT state, attempts, error FROM outbox ORDER BY rowid")
        return [(row["state"], row["attempts"], row["error"]) for row in rows]


@pytest.fixture
async def post(open_office: OpenOffice, receiver: Receiver) -> AsyncIterator[Post]:
    office = await open_office(notify=True)
    webhook = Webhook(url=receiver.url, secret=SECRET, max_attempts=3)
    courier = WebhookCourier(office.store, webhook, clock=lambda: office.now, jitter=lambda: 1.0)
    yield Post(courier=courier, office=office)
    await courier.aclose()


async def test_every_step_is_told(post: Post, receiver: Receiver) -> None:
    approval_id = await post.office.approved()
    await post.office.execute(approval_id)

    arrived = await post.round()

    assert (arrived, sorted(receiver.kinds())) == (
        3,
        ["approval.approved", "approval.consumed", "approval.requested"],
    )
    assert post.outbox() == [("delivered", 1, "")] * 3
    assert await post.round(timedelta(days=1)) == 0


async def test_a_message_says_who_wants_what_and_keeps_the_arguments_back(post: Post, receiver: Receiver) -> None:
    principal = post.office.people.kim.acting_as("bot")
    approval_id = await post.office.waiting(arguments={"amount": 424_242}, principal=principal, agent="bot")

    await post.round()

    ((_, body),) = receiver.got
    told = json.loads(body)
    assert (told["approval_id"], told["tool"], told["agent"]) == (approval_id, "pay", "bot")
    assert (told["requester"], told["on_behalf_of"], told["risk"]) == ("agent:bot", "user:kim", "high")
    assert told["consequences"] == "The money leaves the account."
    assert b"424242" not in body


async def test_a_receiver_can_check_the_signature_with_the_secret_alone(post: Post, receiver: Receiver) -> None:
    await post.office.waiting()

    await post.round()

    ((headers, body),) = receiver.got
    stamp = headers["Daeri-Timestamp"]
    expected = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["Daeri-Signature"] == f"v1={expected}" == signature(SECRET, stamp, body)
    assert int(stamp) == int(post.office.now.timestamp())
    assert headers["Daeri-Message-Id"].startswith("msg_")
    assert SECRET not in str(headers)


@pytest.mark.parametrize(
    ("secret", "stamp", "body"),
    [("other", "1", b"{}"), (SECRET, "2", b"{}"), (SECRET, "1", b"{ }"), (SECRET, "1.", b"{}")],
)
def test_another_secret_time_or_body_is_another_signature(secret: str, stamp: str, body: bytes) -> None:
    assert signature(secret, stamp, body) != signature(SECRET, "1", b"{}")


async def test_what_does_not_arrive_is_tried_again_later_with_the_same_id(post: Post, receiver: Receiver) -> None:
    await post.office.waiting()
    receiver.answer = 503

    await post.round()
    too_early = await post.round(timedelta(seconds=4))
    waits = post.outbox()
    receiver.answer = 200
    arrived = await post.round(timedelta(seconds=1))

    assert (too_early, waits, arrived) == (0, [("pending", 1, "HTTP 503")], 1)
    assert len({headers["Daeri-Message-Id"] for headers, _ in receiver.got}) == 1
    assert len({headers["Daeri-Timestamp"] for headers, _ in receiver.got}) == 2
    assert len(receiver.got) == 2


async def test_the_waits_grow(post: Post, receiver: Receiver) -> None:
    await post.office.waiting()
    receiver.answer = 500

    await post.round()
    first = _next_at(post) - post.office.now
    await post.round(first)
    second = _next_at(post) - post.office.now

    assert (first, second) == (timedelta(seconds=5), timedelta(seconds=10))


def _next_at(post: Post) -> datetime:
    (row,) = post.office.rows("SELECT next_at FROM outbox")
    return datetime.fromtimestamp(row["next_at"] / 1_000_000, UTC)


@pytest.mark.parametrize("answer", [301, 404, 500])
async def test_after_the_last_attempt_it_is_a_dead_letter_on_record(
    post: Post, receiver: Receiver, answer: int
) -> None:
    await post.office.waiting()
    receiver.answer = answer

    for _ in range(5):
        await post.round(timedelta(hours=1))

    assert (len(receiver.got), post.outbox()) == (3, [("dead", 3, f"HTTP {answer}")])
    assert post.office.audit().count("webhook.dead") == 1


async def test_a_server_that_is_not_there_is_one_attempt_and_its_address_is_in_no_record(post: Post) -> None:
    webhook = Webhook(url="http://127.0.0.1:9/token-in-the-path", secret=SECRET, max_attempts=3)
    courier = WebhookCourier(post.office.store, webhook, clock=lambda: post.office.now)
    await post.office.waiting()

    assert await courier.deliver_due() == 0
    await courier.aclose()

    assert post.outbox() == [("pending", 1, "ConnectError")]


async def test_a_message_is_kept_with_its_step_or_neither_is(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    approval_id = await post.office.waiting()
    monkeypatch.setattr(post.office.store, "commit", _full)

    with pytest.raises(StoreError):
        await post.office.desk.approve(approval_id, post.office.people.lee)

    assert (post.office.states(), len(post.outbox())) == ([("pending", "waiting")], 1)


async def _full(records: object) -> None:
    raise StoreError("write the record", "database or disk is full")


async def test_what_was_sent_and_could_not_be_noted_is_sent_again(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await post.office.waiting()
    with monkeypatch.context() as patched:
        patched.setattr(post.office.store, "commit", _full)
        with pytest.raises(StoreError):
            await post.round()

    assert (await post.round(), len(receiver.got)) == (1, 2)


async def test_without_a_webhook_nothing_is_kept_for_one(office: Office) -> None:
    await office.approved()

    assert office.rows("SELECT 1 FROM outbox") == []
