"""``python -m dpmc_core``: the command line (see ``dpmc_core.cli.main``)."""

import sys

from dpmc_core.cli.main import main

sys.exit(main())
