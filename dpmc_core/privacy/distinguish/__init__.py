"""Privacy as a test of hypotheses: what an attacker who tells two datasets apart can do."""
