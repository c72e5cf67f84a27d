"""The key that signs: made at first need, private, and one whoever comes first."""

import subprocess
import sys
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from daeri.boundary import PUBLIC_KEY, SigningKey, VerifyingKey
from daeri.errors import StoreError

PRIVATE = "audit-ed25519.pem"
AT = datetime(2026, 11, 30, 9, 0, 0, 1, tzinfo=UTC)


def test_a_key_is_made_private_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "keys"

    first, second = SigningKey.of(folder), SigningKey.of(folder)

    assert first.public.key_id == second.public.key_id == VerifyingKey.read(folder / PUBLIC_KEY).key_id
    assert {file.name: S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {PRIVATE: 0o600, PUBLIC_KEY: 0o600}
    assert S_IMODE(folder.stat().st_mode) == 0o700


def test_the_public_key_is_written_again_when_it_is_lost(tmp_path: Path) -> None:
    key = SigningKey.of(tmp_path)
    (tmp_path / PUBLIC_KEY).unlink()

    SigningKey.of(tmp_path)

    assert VerifyingKey.read(tmp_path / PUBLIC_KEY).key_id == key.public.key_id


def test_threads_and_processes_that_begin_together_agree_on_one_key(tmp_path: Path) -> None:
    script = "import sys; from daeri.boundary import SigningKey; from pathlib import Path\n"
    script += "sys.stdin.readline(); print(SigningKey.of(Path(sys.argv[1])).public.key_id)"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    with ThreadPoolExecutor(8) as pool:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        ids = [key.public.key_id for key in pool.map(SigningKey.of, [tmp_path] * 8)]
    ids += [process.communicate()[0].strip() for process in processes]

    assert len(ids) == 10
    assert set(ids) == {VerifyingKey.read(tmp_path / PUBLIC_KEY).key_id}
    assert sorted(file.name for file in tmp_path.iterdir()) == [PRIVATE, PUBLIC_KEY]


def test_what_is_signed_can_be_checked_with_the_documented_bytes_alone(tmp_path: Path) -> None:
    checkpoint = SigningKey.of(tmp_path).sign("main", 7, "ab" * 32, AT)

    public = load_pem_public_key((tmp_path / PUBLIC_KEY).read_bytes())
    assert isinstance(public, Ed25519PublicKey)
    signed = '{"at":"2026-11-30T09:00:00.000001+00:00","chain":"main","hash":"' + "ab" * 32 + '","seq":7}'
    public.verify(b64decode(checkpoint.signature), b"daeri.audit-checkpoint.1\n" + signed.encode())


@pytest.mark.parametrize("content", [b"", b"no key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_key_file_that_holds_none_is_an_error_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / PRIVATE).write_bytes(content)

    with pytest.raises(StoreError, match="could not use the key"):
        SigningKey.of(tmp_path)

    assert (tmp_path / PRIVATE).read_bytes() == content


def test_a_key_of_another_kind_is_an_error(tmp_path: Path) -> None:
    key = generate_private_key(SECP256R1())
    (tmp_path / PRIVATE).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / PUBLIC_KEY).write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

    with pytest.raises(StoreError, match="it is no Ed25519 key"):
        SigningKey.of(tmp_path)
    with pytest.raises(StoreError, match="it is no Ed25519 key"):
        VerifyingKey.read(tmp_path / PUBLIC_KEY)
