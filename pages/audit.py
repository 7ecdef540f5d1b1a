"""Audit: attack a release with and without Alice."""

import streamlit as st

from pages.parts.audit import attacked
from pages.parts.audit.attack import attack, audit_yours
from pages.parts.audit.controls import LINK_TITLES, build, form, link_to
from pages.parts.frame.page import control, head, tab

head("audit", LINK_TITLES)
row = control()
fields = form(row)
spec, problem = build(fields)
attack(spec, problem, row)
if spec is not None and not (spec.searches or spec.dataset or spec.canaries):
    link_to("game.py", "Play against it yourself", ":material/casino:")
if fields["target"] == "number":
    tab("What is attacked", "attacked", lambda: attacked.number(fields["case"]))
why = attacked.ONE_RUN if "canaries" in fields else attacked.REPEATED
tab("Why it proves a bound", "introduction", lambda: st.markdown(why))
tab("Your own mechanism", "own", audit_yours)
