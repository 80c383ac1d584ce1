"""Registers every component with fairseq; imported by the package, whichever way that is reached."""

from lev_plugins.compatibility import check_environment

check_environment()

from lev_plugins import criterions, models, scoring, tasks  # noqa: E402,F401
from lev_plugins.checkpoints import allow_list  # noqa: E402
from lev_plugins.errors import explain_at_exit  # noqa: E402
from lev_plugins.models import enct5, gated, levt, pbd, post_edit  # noqa: E402,F401
from lev_plugins.models.backbones import bart, bert, t5  # noqa: E402,F401
from lev_plugins.tasks import text_correction, text_editing, text_labelling  # noqa: E402,F401
from lev_plugins.text import chars, pretrained  # noqa: E402,F401

allow_list()
explain_at_exit()
