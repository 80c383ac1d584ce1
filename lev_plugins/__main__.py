"""``python -m lev_plugins``: the command ``lev-plugins``."""

import sys

from lev_plugins.cli.main import main

sys.exit(main())
