"""What processes gather from each other may be of any size, and on a CPU.

fairseq copies it through GPU memory, into at most ``--all-gather-list-size`` bytes.
"""

from typing import Any

from fairseq.distributed import utils as distributed
from fairseq.utils import move_to_cpu
from torch.distributed import all_gather_object


def all_gather_list(data: Any, group: Any = None, max_size: int = 0) -> list[Any]:
    """``data`` of each process of the group; ``max_size`` is fairseq's and not needed."""
    group = distributed.get_global_group() if group is None else group
    gathered: list[Any] = [None] * distributed.get_world_size(group)
    all_gather_object(gathered, move_to_cpu(data), group)
    return gathered


def gather_any_size() -> None:
    """From here on, fairseq's trainer gathers in this way."""
    distributed.all_gather_list = all_gather_list
