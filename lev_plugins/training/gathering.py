"""Gathering of any number of bytes, also on CPUs; fairseq allows ``--all-gather-list-size`` bytes, on GPUs."""

from typing import TypeVar

from fairseq.distributed import utils as distributed
from fairseq.utils import move_to_cpu
from torch.distributed import ProcessGroup, all_gather_object

Data = TypeVar("Data")


def all_gather_list(data: Data, group: ProcessGroup | None = None, max_size: int = 0) -> list[Data]:
    """Returns the ``data`` of each process of the group; ``max_size`` is ignored."""
    group = distributed.get_global_group() if group is None else group
    items = [data] * distributed.get_world_size(group)
    all_gather_object(items, move_to_cpu(data), group)
    return items


def gather_any_size() -> None:
    """Replaces the function by which fairseq's trainer gathers logs."""
    distributed.all_gather_list = all_gather_list
