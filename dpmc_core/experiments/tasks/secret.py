"""Noise that nobody can draw again: a cryptographic generator with a key from the system."""

import secrets

import numpy as np
from randomgen import ChaCha

from dpmc_core.errors import DataError

__all__ = ["secret_generator"]

_KEY_BITS = 256


def secret_generator() -> np.random.Generator:
    """A generator over ChaCha20 (Bernstein 2008) with a new key of 256 bits from the system.

    numpy's own generators are made for speed: from enough exact outputs their state can be
    computed (Bouillaguet, Martinez & Sauvage 2020 do so for PCG64), and an attacker who knows all
    records but one has the noise exactly. The key is kept nowhere. Raises ``DataError`` where the
    system has no source of entropy.
    """
    try:
        key = secrets.randbits(_KEY_BITS)
    except (NotImplementedError, OSError) as error:
        raise DataError(
            f"The operating system gives no random bits ({error}), so secret noise cannot be "
            "drawn; a seed makes a run that can be repeated, for teaching only."
        ) from None
    return np.random.Generator(ChaCha(key=key, rounds=20))
