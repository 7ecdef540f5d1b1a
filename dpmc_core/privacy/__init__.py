"""What a run releases and what can be said about it.

Lives here: the ledger (releases, written by the line that draws the noise), statements, and ε in odds. Does not live
here: the noise laws (``dpmc_core.mechanisms``) or any algorithm.
"""

from dpmc_core.privacy.ledger import Ledger, Release, draw
from dpmc_core.privacy.odds import guess_bound, odds_sentence
from dpmc_core.privacy.statement import Statement, nominal_statement

__all__ = ["Ledger", "Release", "Statement", "draw", "guess_bound", "nominal_statement", "odds_sentence"]
