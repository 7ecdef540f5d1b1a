"""``python -m dpmc_core``: the command line (see ``dpmc_core.cli``)."""

import sys

from dpmc_core.cli import main

sys.exit(main())
