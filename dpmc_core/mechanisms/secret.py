"""Noise that nobody can draw again: a cryptographic generator with a key from the system."""

import hashlib
import secrets
from collections.abc import Callable

import numpy as np

from dpmc_core.errors import DataError

_KEY_BYTES = 32


def secret_generator() -> np.random.Generator:
    """A generator over ChaCha20 (Bernstein 2008) with a new key of 256 bits from the system.

    numpy's own generators are made for speed: from enough exact outputs their state can be
    computed (Bouillaguet, Martinez & Sauvage 2020 do so for PCG64), and an attacker who knows all
    records but one has the noise exactly. The key is kept nowhere. Raises ``DataError`` where the
    system has no source of entropy.
    """
    try:
        key = secrets.randbits(8 * _KEY_BYTES)
    except (NotImplementedError, OSError) as error:
        raise DataError(
            f"The operating system gives no random bits ({error}), so secret noise cannot be "
            "drawn; a seed makes a run that can be repeated, for teaching only."
        ) from None
    return _of_key(key)


def is_secret(rng: np.random.Generator) -> bool:
    """Whether ``rng`` is one that nobody can draw again."""
    return type(rng.bit_generator).__name__ == "ChaCha"


def generators_of(rng: np.random.Generator) -> Callable[[int], np.random.Generator]:
    """Independent generators by number, as secret as ``rng``, which is asked once."""
    if is_secret(rng):
        key = rng.bytes(_KEY_BYTES)

        def secret(k: int) -> np.random.Generator:
            digest = hashlib.blake2b(k.to_bytes(8, "little"), key=key, digest_size=_KEY_BYTES)
            return _of_key(int.from_bytes(digest.digest(), "little"))

        return secret
    entropy = int(rng.integers(2**63))
    return lambda k: np.random.default_rng([entropy, k])


def _of_key(key: int) -> np.random.Generator:
    try:
        from randomgen import ChaCha  # compiled: not where Python runs in a browser
    except ImportError:
        raise DataError("Secret noise needs the package randomgen, which is not here.") from None
    return np.random.Generator(ChaCha(key=key, rounds=20))
