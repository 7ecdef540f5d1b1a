"""What a run releases and what can be said about it.

The ledger (releases, written by the line that draws the noise), accountants that read it,
calibration, statements, audits, and ε in odds.
"""

from dpmc_core.privacy.account import Account, account, best
from dpmc_core.privacy.calibrate import least_noise
from dpmc_core.privacy.ledger import Ledger, Release, draw, ledger_from_text, read_ledger
from dpmc_core.privacy.statement import Statement, guess_bound, odds_sentence, state, subject

__all__ = [
    "Account",
    "Ledger",
    "Release",
    "Statement",
    "account",
    "best",
    "draw",
    "guess_bound",
    "least_noise",
    "ledger_from_text",
    "odds_sentence",
    "read_ledger",
    "state",
    "subject",
]
