"""``--bf16`` and ``--memory-efficient-bf16`` on a GPU; fairseq takes both for flags of a TPU, which it lacks."""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY


def allow_bf16_on_gpu(package: str) -> None:
    """For the architectures of a package: fairseq calls the function of the chosen one when it has read the flags."""
    for name, model in ARCH_MODEL_REGISTRY.items():
        if model.__module__.startswith(f"{package}."):
            ARCH_CONFIG_REGISTRY[name] = partial(without_tpu, ARCH_CONFIG_REGISTRY[name])


def without_tpu(configure: Callable[[Namespace], None], args: Namespace) -> None:
    gpu = torch.cuda.is_available() and not getattr(args, "cpu", False)
    if gpu and getattr(args, "bf16", False) and find_spec("torch_xla") is None:
        args.tpu = False
    configure(args)
