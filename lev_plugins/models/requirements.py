"""What a model requires of its task, of its dictionaries and of the drafts that it reads."""

from typing import Any

from torch import Tensor

from lev_plugins.errors import require

BUCKETS = 32768  # --spelling-buckets, by default


def require_task(task: Any, name: str, arch: str) -> None:
    """Each task has its name as an attribute, so models need not import tasks."""
    selected = getattr(task.cfg, "_name", None)
    require(
        getattr(task, "name", None) == name,
        f"--arch {arch} does not work with --task {selected}: use --task {name}",
    )


def require_one_dictionary(task: Any, what: str, instead: str) -> None:
    """``what`` requires the same words in source and target; ``instead`` names the alternative."""
    require(
        task.source_dictionary == task.target_dictionary,
        f"{what} requires one dictionary for both sides, but dict.{task.cfg.source_lang}.txt and "
        f"dict.{task.cfg.target_lang}.txt differ: run fairseq-preprocess with --joined-dictionary, or {instead}",
    )


def require_room(draft: Tensor, pad: int, room: int, side: str) -> None:
    """For a ``draft`` (B, N) among the positions of a ``side``; what is too much may be padding."""
    if draft.size(1) > room:
        longest = int(draft.ne(pad).sum(1).max())
        require(
            longest <= room,
            f"a draft has {longest} tokens, including boundaries, but the model has positions for {room}: shorten it, "
            f"or train with a larger --max-{side}-positions",
        )
