"""What every page uses: controls bound to the address, the run panel, figures, words."""
