"""fairseq plug-ins for text editing. Importing this package registers them all, once and silently."""

from lev_plugins.compatibility import check_environment

check_environment()

from lev_plugins import criterions, models, tasks  # noqa: E402,F401
from lev_plugins.checkpoints import allow_list  # noqa: E402
from lev_plugins.models import levt  # noqa: E402,F401
from lev_plugins.tasks import text_editing  # noqa: E402,F401

allow_list()

__version__ = "0.1.0"
