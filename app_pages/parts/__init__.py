"""What pages share: controls bound to the URL, charts, background jobs, texts.

Lives here: everything of a page that is used by more than one, and every function from a result to a figure. Does not
live here: maths (``dpmc_core``) or page layout.
"""
