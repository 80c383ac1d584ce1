"""``--bf16`` and ``--memory-efficient-bf16`` on a GPU; fairseq reserves both for TPUs."""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY


def allow_bf16_on_gpu(package: str) -> None:
    """Adds ``without_tpu`` to the architectures of a package, which fairseq calls when it has read the flags."""
    for name, model in ARCH_MODEL_REGISTRY.items():
        if model.__module__.startswith(f"{package}."):
            ARCH_CONFIG_REGISTRY[name] = partial(without_tpu, ARCH_CONFIG_REGISTRY[name])


def without_tpu(configure: Callable[[Namespace], None], args: Namespace) -> None:
    """Takes back the --tpu that fairseq set because of --bf16, and configures the architecture."""
    flags = vars(args)
    gpu = torch.cuda.is_available() and not flags.get("cpu")
    if gpu and flags.get("bf16") and find_spec("torch_xla") is None:
        args.tpu = False
    configure(args)
