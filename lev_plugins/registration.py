"""Importing this module registers every component with fairseq."""

import atexit

from lev_plugins.utils.compatibility import check_environment

check_environment()

from lev_plugins.correction import gated, gated_pretrained, pbd  # noqa: E402,F401
from lev_plugins.correction import task as text_correction  # noqa: E402,F401
from lev_plugins.labelling import criterion as labelling  # noqa: E402,F401
from lev_plugins.labelling import model as enct5  # noqa: E402,F401
from lev_plugins.labelling import task as text_labelling  # noqa: E402,F401
from lev_plugins.levt import criterion as dual_policy  # noqa: E402,F401
from lev_plugins.levt import model as levt  # noqa: E402,F401
from lev_plugins.levt import post_edit  # noqa: E402,F401
from lev_plugins.levt import task as text_editing  # noqa: E402,F401
from lev_plugins.nn import fused_adam  # noqa: E402,F401
from lev_plugins.training import (  # noqa: E402
    checkpoints,
    copies,
    fairseq_scorers,  # noqa: F401
    gpus,
    resuming,
    shutdown,
    tokenise,  # noqa: F401
)
from lev_plugins.utils.errors import explain_at_exit  # noqa: E402

copies.drop_weight_copies()
resuming.install()
gpus.allow_bf16_on_gpu(__package__)
atexit.register(shutdown.stop_reading_ahead)
checkpoints.refuse_programs()
explain_at_exit()
