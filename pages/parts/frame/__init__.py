"""The frame around every page: title, verdict, folds, presenter mode, share and print."""
