"""What a model requires of its task and of its dictionaries."""

from fairseq.tasks import FairseqTask

from lev_plugins.utils.errors import require

BUCKETS = 32768  # --spelling-buckets, by default


def require_task(task: FairseqTask, name: str, arch: str) -> None:
    """Refuses a task of another ``name``: our tasks have it as an attribute, so models need not import tasks."""
    matches = hasattr(task, "name") and task.name == name
    require(matches, f"--arch {arch} does not work with --task {task.cfg._name}: use --task {name}")


def require_one_dictionary(task: FairseqTask, what: str, instead: str) -> None:
    """Refuses different dictionaries for source and target, because of ``what``; ``instead`` names the alternative."""
    require(
        task.source_dictionary == task.target_dictionary,
        f"{what} requires one dictionary for both sides, but dict.{task.cfg.source_lang}.txt and "
        f"dict.{task.cfg.target_lang}.txt differ: run fairseq-preprocess with --joined-dictionary, or {instead}",
    )
