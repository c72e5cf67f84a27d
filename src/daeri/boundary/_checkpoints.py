"""Signed heads of the audit chain: what makes it show that the end of the record was cut off.

The signature (Ed25519) is over the ASCII line `daeri.audit-checkpoint.1`, a line feed, and the canonical JSON of `at`
(ISO 8601, UTC, microseconds), `chain`, `hash` and `seq`. A checkpoint as a line of JSON holds these, `format`, `key_id`
and `signature` (base64). `key_id` is the beginning of the SHA-256 of the 32 bytes of the public key.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from daeri.errors import StoreError
from daeri.text import canonical_json

if TYPE_CHECKING:  # loaded when something is signed or checked, not with every command
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PRIVATE_KEY = "audit-ed25519.pem"
PUBLIC_KEY = "audit-ed25519.pub.pem"

_FORMAT = "daeri.audit-checkpoint.1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A signed statement: at this time, the chain ended with this row."""

    chain: str
    seq: int
    hash: str
    at: datetime
    key_id: str
    signature: str
    """Base64."""

    def as_line(self) -> str:
        """One line of JSON, without its end."""
        fields = {**_statement(self.chain, self.seq, self.hash, self.at), "key_id": self.key_id}
        return canonical_json({**fields, "format": _FORMAT, "signature": self.signature})

    @classmethod
    def from_line(cls, line: str) -> Self | None:
        """The checkpoint in a line of JSON; `None` when it holds none, as after a crash in the middle of writing."""
        try:
            fields: dict[str, Any] = json.loads(line)
            found = cls(
                chain=str(fields["chain"]),
                seq=int(fields["seq"]),
                hash=str(fields["hash"]),
                at=datetime.fromisoformat(fields["at"]),
                key_id=str(fields["key_id"]),
                signature=str(fields["signature"]),
            )
            return found if found.as_line() == canonical_json(fields) else None
        except (ValueError, TypeError, KeyError, OverflowError):
            return None


class SigningKey:
    """The private key of this installation."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = VerifyingKey(key.public_key())

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The key kept in `folder`, made when there is none; several processes that make one agree on one.

        Raises:
            StoreError: it can't be read or made.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        private, public = folder / PRIVATE_KEY, folder / PUBLIC_KEY
        try:
            if not private.exists():
                _put_once(private, _pem_of_private(Ed25519PrivateKey.generate()))
            loaded = load_pem_private_key(private.read_bytes(), password=None)
            if not isinstance(loaded, Ed25519PrivateKey):
                raise StoreError(f"use the key {str(private)!r}", "it is no Ed25519 key")
            key = cls(loaded)
            if not public.exists():
                _put_once(public, key.public.pem())
        except (OSError, ValueError) as problem:
            raise StoreError(f"use the key {str(private)!r}", str(problem)) from problem
        return key

    def sign(self, chain: str, seq: int, link: str, at: datetime) -> Checkpoint:
        """State that `chain` ends at `at` with row `seq`, whose hash is `link`."""
        signature = b64encode(self._key.sign(_signed(chain, seq, link, at))).decode()
        return Checkpoint(chain=chain, seq=seq, hash=link, at=at, key_id=self.public.key_id, signature=signature)


class VerifyingKey:
    """The public key: all that an auditor needs."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key
        self.key_id = hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]

    @classmethod
    def read(cls, file: Path) -> Self:
        """The key in a PEM file.

        Raises:
            StoreError: there is none.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        try:
            loaded = load_pem_public_key(file.read_bytes())
        except (OSError, ValueError) as problem:
            raise StoreError(f"use the key {str(file)!r}", str(problem)) from problem
        if not isinstance(loaded, Ed25519PublicKey):
            raise StoreError(f"use the key {str(file)!r}", "it is no Ed25519 key")
        return cls(loaded)

    def pem(self) -> bytes:
        """The key as a PEM file holds it."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        return self._key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def made(self, checkpoint: Checkpoint) -> bool:
        """Whether the private half of this key signed exactly this."""
        from cryptography.exceptions import InvalidSignature

        try:
            signed = _signed(checkpoint.chain, checkpoint.seq, checkpoint.hash, checkpoint.at)
            self._key.verify(b64decode(checkpoint.signature, validate=True), signed)
        except (InvalidSignature, ValueError):
            return False
        return checkpoint.key_id == self.key_id


def append_line(file: Path, checkpoint: Checkpoint) -> None:
    """Add a checkpoint to a file of lines; it is on disk when this returns.

    Raises:
        StoreError: the file can't be written.
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, f"{chr(10) * torn}{checkpoint.as_line()}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as problem:
        raise StoreError(f"add a checkpoint to {str(file)!r}", str(problem)) from problem


def _statement(chain: str, seq: int, link: str, at: datetime) -> dict[str, str | int]:
    moment = at.astimezone(UTC).isoformat(timespec="microseconds")
    return {"at": moment, "chain": chain, "hash": link, "seq": seq}


def _signed(chain: str, seq: int, link: str, at: datetime) -> bytes:
    return f"{_FORMAT}\n{canonical_json(_statement(chain, seq, link, at))}".encode()


def _pem_of_private(key: Ed25519PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _put_once(file: Path, content: bytes) -> None:
    """Make a private file with all of its content, unless another process has made it by then."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, written = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileExistsError):
            os.link(written, file)
    finally:
        os.unlink(written)
