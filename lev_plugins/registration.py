"""Importing this module registers every component with fairseq."""

import atexit

from lev_plugins.compatibility import check_environment

check_environment()

from lev_plugins import checkpoints, criterions  # noqa: E402,F401
from lev_plugins.data import tokenise  # noqa: E402,F401
from lev_plugins.errors import explain_at_exit  # noqa: E402
from lev_plugins.fairseq_fixes import copies, gpus, resuming, shutdown  # noqa: E402
from lev_plugins.memory import keep_freed  # noqa: E402
from lev_plugins.models import enct5, gated, levt, pbd, post_edit  # noqa: E402,F401
from lev_plugins.models.backbones import gated_pretrained  # noqa: E402,F401
from lev_plugins.optim import fused_adam  # noqa: E402,F401
from lev_plugins.scoring import fairseq_scorers  # noqa: E402,F401
from lev_plugins.tasks import text_correction, text_editing, text_labelling  # noqa: E402,F401

keep_freed()
copies.drop_weight_copies()
resuming.install()
gpus.allow_bf16_on_gpu(__package__)
atexit.register(shutdown.stop_reading_ahead)
checkpoints.refuse_programs()
explain_at_exit()
