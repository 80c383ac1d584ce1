"""Tests use the components by their names in fairseq, as its commands do."""

import lev_plugins

lev_plugins.register()
