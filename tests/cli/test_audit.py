from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell


@pytest.fixture
def recorded(project: Shell, script: Script) -> Shell:
    """A project with one run on record."""
    project("run", "What is a pen?", "--model", script([("price.find", {"product": "pen"})], "A pen costs $2."))
    return project


def tamper(shell: Shell, statement: str) -> None:
    connection = sqlite3.connect(f"{shell.environment['DAERI_HOME']}/daeri.db")
    with connection:
        connection.execute(statement)
    connection.close()


def kinds(shell: Shell, *options: str) -> list[str]:
    return [json.loads(line)["kind"] for line in shell("audit", "tail", "--json", *options).out.splitlines()]


def test_a_run_leaves_a_record_that_is_whole_and_signed(recorded: Shell) -> None:
    done = recorded("audit", "verify", "--json")

    assert done.code == 0
    assert (done.json["whole"], done.json["faults"]) == (True, [])
    assert done.json["signed"] == done.json["rows"] > 2
    assert recorded("audit", "verify").out.startswith("The audit record is whole.")
    assert recorded("audit", "verify", "--lang", "ko").out.startswith("감사 기록에 이상이 없습니다.")


@pytest.mark.parametrize(
    ("statement", "kind", "said"),
    [
        ("UPDATE audit SET actor = 'nobody' WHERE kind = 'call.started'", "edited", "changed or moved"),
        ("DELETE FROM audit WHERE kind = 'call.started'", "missing", "missing"),
        ("DELETE FROM audit WHERE seq >= (SELECT seq FROM audit WHERE kind = 'call.started')", "cut", "went on"),
    ],
)
def test_the_first_bad_row_is_named_and_the_exit_code_is_1(
    recorded: Shell, statement: str, kind: str, said: str
) -> None:
    seq = next(row["seq"] for row in map(json.loads, recorded("audit", "tail", "--json").out.splitlines())
               if row["kind"] == "call.started")  # fmt: skip
    tamper(recorded, statement)

    done, read = recorded("audit", "verify", "--json"), recorded("audit", "verify")

    assert (done.code, read.code) == (1, 1)
    assert (done.json["whole"], done.json["faults"][0]["kind"], done.json["faults"][0]["seq"]) == (False, kind, seq)
    assert read.out.startswith(f"Row {seq}: ")
    assert said in read.out


def test_copies_of_key_and_checkpoints_kept_elsewhere_can_be_named(recorded: Shell) -> None:
    home = recorded.environment["DAERI_HOME"]
    files = ("--key", f"{home}/keys/audit-ed25519.pub.pem", "--checkpoints", f"{home}/audit-checkpoints.jsonl")

    assert recorded("audit", "verify", *files).code == 0
    assert recorded("audit", "verify", "--key", "nowhere.pem").code == 1


def test_the_tail_shows_the_newest_events(recorded: Shell) -> None:
    assert kinds(recorded)[-3:] == ["call.started", "call.succeeded", "audit.checkpoint"]
    assert kinds(recorded, "-n", "1") == ["audit.checkpoint"]
    assert kinds(recorded, "-n", "0") == []
    lines = recorded("audit", "tail", "-n", "2").out.splitlines()
    assert [line.split()[3] for line in lines] == ["call.succeeded", "audit.checkpoint"]


def test_following_shows_what_others_write_until_it_is_stopped(recorded: Shell, script: Script) -> None:
    following = recorded.start("audit", "tail", "-n", "1", "--follow", "--json")
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["kind"] == "audit.checkpoint"

    recorded("run", "What is a pen?", "--model", script([("price.find", {"product": "pen"})], "A pen costs $2."))

    seen = [json.loads(following.stdout.readline())["kind"] for _ in range(2)]
    following.terminate()
    following.communicate()
    assert seen == ["call.started", "call.succeeded"]


def test_signing_says_up_to_where(recorded: Shell) -> None:
    tamper(recorded, "DELETE FROM audit_checkpoints")

    done = recorded("audit", "checkpoint", "--json")

    assert (done.code, done.json["format"]) == (0, "daeri.audit-checkpoint.1")
    assert recorded("audit", "verify", "--json").json["signed"] == done.json["seq"]
    assert f"Signed up to row {done.json['seq']}" in recorded("audit", "checkpoint").out


def test_an_empty_record_has_nothing_to_sign(daeri: Shell) -> None:
    assert daeri("audit", "checkpoint").out == "The audit record is empty; there is nothing to sign.\n"
    assert daeri("audit", "checkpoint", "--json").json is None


def test_verifying_where_there_is_no_record_says_so_and_makes_none(daeri: Shell) -> None:
    done = daeri("audit", "verify")

    assert (done.code, done.out) == (
        0,
        f"There is no audit record: {daeri.environment['DAERI_HOME']}/daeri.db does not exist.\n",
    )
    assert daeri("audit", "verify", "--json").json["rows"] == 0
    assert daeri("audit", "verify", "--lang", "ko").out.startswith("감사 기록이 없습니다.")
    assert not Path(daeri.environment["DAERI_HOME"]).exists()


def test_a_record_that_is_gone_although_it_was_signed_is_a_fault(recorded: Shell) -> None:
    for file in Path(recorded.environment["DAERI_HOME"]).glob("daeri.db*"):
        file.unlink()

    done = recorded("audit", "verify")

    assert done.code == 1
    assert "There is no audit record" in done.out
    assert "Row 1: missing" in done.out


def test_checkpoints_that_were_removed_are_missed(recorded: Shell) -> None:
    tamper(recorded, "DELETE FROM audit_checkpoints")
    (Path(recorded.environment["DAERI_HOME"]) / "audit-checkpoints.jsonl").unlink()

    done = recorded("audit", "verify")

    assert done.code == 1
    assert "neither in the database nor in the file" in done.out


def test_who_signs_as_somebody_else_stays_known(recorded: Shell) -> None:
    settings = recorded.folder / "daeri.toml"
    settings.write_text(settings.read_text("utf-8") + '[principals.lee]\nroles = ["auditor"]\n', "utf-8")
    tamper(recorded, "DELETE FROM audit_checkpoints")

    assert recorded("audit", "checkpoint", "--as", "lee").code == 0
    last = json.loads(recorded("audit", "tail", "--json", "-n", "1").out)
    assert (last["kind"], last["actor"]) == ("audit.checkpoint", "lee")
    assert last["data"]["via"].startswith("os:")


@pytest.mark.parametrize("what", ["verify", "tail", "checkpoint"])
def test_who_may_not_read_is_refused_and_the_attempt_is_on_record(recorded: Shell, what: str) -> None:
    done = recorded("audit", what, DAERI_CLI_ROLES='["user", "operator"]')

    assert (done.code, done.out) == (5, "")
    assert "auditor or admin" in done.err
    last = json.loads(recorded("audit", "tail", "--json", "-n", "1").out)
    assert (last["kind"], last["data"]["asked_for"]) == ("audit.refused", what)
    assert last["data"]["principal"]["roles"] == ["operator", "user"]


def test_a_principal_reads_with_its_own_roles(recorded: Shell) -> None:
    settings = recorded.folder / "daeri.toml"
    declared = '[principals.kim]\nroles = ["user"]\n[principals.lee]\nroles = ["auditor"]\n'
    settings.write_text(settings.read_text("utf-8") + declared, "utf-8")

    assert recorded("audit", "verify", "--as", "lee").code == 0
    assert recorded("audit", "verify", "--as", "kim").code == 5
    last = json.loads(recorded("audit", "tail", "--json", "-n", "1").out)
    assert (last["kind"], last["actor"]) == ("audit.refused", "kim")
    assert last["data"]["principal"]["via"].startswith("os:")
