"""A GPU that is not there: tensors that say ``cuda:0``, and fail or wait as they would on one.

The numbers are computed on the CPU; only what device each tensor says, what may be computed with what, and who waits is
that of a GPU. So it shows neither speed nor memory nor the rounding of CUDA.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from types import FrameType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests import commands

CUDA = torch.device("cuda", 0)
PACKAGE = f"{os.sep}lev_plugins{os.sep}"
# for these, the processor waits until the GPU has computed what they read, or the size of what they make
ASKING = {"_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "masked_select", "_unique2", "unique_dim"}
ASKING |= {"unique_consecutive", "bincount", "multinomial"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
READ_HERE = {torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__}
FROM_HOST = {torch.tensor, torch.as_tensor, torch.from_numpy}


class SimulatedGpu:
    """Which memory is on the GPU, and how often each line of the package waited for it."""

    def __init__(self) -> None:
        self.memory: dict[int, StorageWeakRef] = {}
        self.waits: Counter[str] = Counter()

    def has(self, x: Any) -> bool:
        return isinstance(x, Tensor) and x.untyped_storage()._cdata in self.memory

    def put(self, x: Any, here: bool = True) -> Any:
        if isinstance(x, Tensor) and here:
            storage = x.untyped_storage()
            self.memory[storage._cdata] = StorageWeakRef(storage)  # with it, no other memory gets this number
        elif isinstance(x, Tensor):
            self.memory.pop(x.untyped_storage()._cdata, None)
        return x

    def wait(self) -> None:
        frame: FrameType | None = sys._getframe()
        while frame is not None and PACKAGE not in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None:
            self.waits[f"{frame.f_code.co_filename.split(PACKAGE)[-1]}:{frame.f_lineno}"] += 1

    def moved(self, x: Tensor, device: Any, meanwhile: bool = False) -> Tensor:
        there = on_gpu(device)
        if there == self.has(x):
            return x
        if not meanwhile:
            self.wait()
        return self.put(x.clone(), there)

    @property
    def waited(self) -> int:
        return self.waits.total()


def on_gpu(device: Any) -> bool:
    return isinstance(device, int) or torch.device(device).type == "cuda"  # a number is that of a GPU


class Functions(TorchFunctionMode):
    """What Python asks of tensors: where they are, that they move or are made there, what they hold."""

    def __init__(self, gpu: SimulatedGpu):
        super().__init__()
        self.gpu = gpu

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        gpu, named = self.gpu, dict(kwargs or {})
        here = bool(args) and gpu.has(args[0])
        if func == torch.Tensor.device.__get__:
            return CUDA if here else func(*args)
        if func == torch.Tensor.is_cuda.__get__:
            return here
        if func is torch.Tensor.cuda:
            return gpu.moved(args[0], CUDA)
        if func is torch.Tensor.cpu:
            return gpu.moved(args[0], "cpu")
        if func in READ_HERE and here:
            if func is not torch.Tensor.tolist:
                raise TypeError("can't convert cuda:0 device type tensor to numpy")
            gpu.wait()
        if func in (torch.Tensor.to, torch.Tensor.type_as):
            return self.to(*args, **named)
        if func is torch.Tensor.new_tensor and here:
            gpu.wait()
            return gpu.put(func(*args, **named))
        generator = named.get("generator")
        if generator is not None and here and generator.device != CUDA:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        device = named.pop("device", None)
        if device is None or func is torch._C._nn._parse_to:  # what Module.to reads its arguments with
            return func(*args, **(kwargs or {}))
        made = func(*args, **named)
        if func in FROM_HOST:
            return gpu.moved(made, device)
        return gpu.put(made, on_gpu(device))

    def to(self, x: Tensor, *given: Any, **named: Any) -> Tensor:
        device, dtype = named.pop("device", None), named.pop("dtype", None)
        for each in (*given, named.pop("other", None)):
            if isinstance(each, Tensor):
                device, dtype = CUDA if self.gpu.has(each) else "cpu", each.dtype
            elif isinstance(each, torch.dtype):
                dtype = each
            elif isinstance(each, (str, int, torch.device)) and not isinstance(each, bool):
                device = each
        if device is not None:
            x = self.gpu.moved(x, device, named.pop("non_blocking", False) and on_gpu(device))
        return x if dtype is None else torch.Tensor.to(x, dtype=dtype, copy=named.get("copy", False))


class Operations(TorchDispatchMode):
    """What is computed, in backward passes as well."""

    def __init__(self, gpu: SimulatedGpu):
        super().__init__()
        self.gpu = gpu

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():
            named, name = kwargs or {}, func.overloadpacket.__name__
            given = [x for x in tree_leaves((args, named)) if isinstance(x, Tensor)]
            here = [x for x in given if self.gpu.has(x)]
            if not here:
                return func(*args, **named)
            self.check(func, name, args, named, given)
            made = func(*args, **named)
            for x in tree_leaves(made):
                if not any(x is one for one in given):
                    self.gpu.put(x)
            return made

    def check(self, func: Any, name: str, args: Any, named: Any, given: list[Tensor]) -> None:
        gpu, far = self.gpu, [x for x in given if not self.gpu.has(x)]
        if name in ("copy_", "_copy_from"):
            return gpu.wait() if far else None
        if name in INDEXING:
            indices = [x for x in args[1] if x is not None]
            if not gpu.has(args[0]):
                raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
            masks = any(x.dtype in (torch.bool, torch.uint8) for x in indices)
            fills = len(args) > 2 and args[2].numel() == 1 and len(indices) == 1  # this is masked_fill
            if (masks and not fills) or any(x.dim() and not gpu.has(x) for x in indices):
                gpu.wait()
            far = [x for x in args[2:3] if not gpu.has(x)]
        if any(x.dim() for x in far):
            raise RuntimeError(f"Expected all tensors to be on the same device, but {func} got cuda:0 and cpu")
        if "mkldnn" in str(func) or "onednn" in str(func):
            raise NotImplementedError(f"{func} has no kernel for CUDA")
        sized = named.get("output_size") is not None or isinstance(args[-1], int)
        if name in ASKING or (name == "repeat_interleave" and not sized):
            gpu.wait()


class Generator(torch.Generator):
    device = torch.device("cpu")  # type: ignore[assignment]

    def __new__(cls, device: Any = "cpu") -> "Generator":
        made = super().__new__(cls)
        made.device = torch.device(device)
        return made


def pretended() -> dict[str, Any]:
    """Of ``torch.cuda``, what fairseq asks."""
    properties = SimpleNamespace(major=9, minor=0, total_memory=1 << 36, name="simulated", multi_processor_count=1)
    constant: dict[str, Any] = {"is_available": True, "device_count": 1, "current_device": 0}
    constant |= {"get_device_properties": properties, "get_device_capability": (9, 0), "get_rng_state": torch.zeros(1)}
    nothing = ("set_device", "set_rng_state", "manual_seed", "manual_seed_all", "empty_cache", "synchronize")
    memory = ("memory_allocated", "max_memory_allocated", "reset_peak_memory_stats", "memory_summary")
    constant |= dict.fromkeys(nothing) | dict.fromkeys(memory, 0)
    found: dict[str, Any] = {name: always(value) for name, value in constant.items()}
    return found | {"device": always(nullcontext())}


def always(value: Any) -> Callable[..., Any]:
    return lambda *given, **named: value


@contextmanager
def simulated_gpu() -> Iterator[SimulatedGpu]:
    gpu, enabled = SimulatedGpu(), torch.is_autocast_enabled
    with ExitStack() as stack:
        stack.enter_context(mock.patch.multiple(torch.cuda, **pretended()))
        # autocast of the CPU, in the precision of a GPU's
        half = partial(torch.autocast, "cpu", torch.float16)
        stack.enter_context(mock.patch.object(torch.cuda.amp, "autocast", half))
        asked = mock.patch.object(torch, "is_autocast_enabled", lambda kind="cuda": kind == "cuda" and enabled("cpu"))
        stack.enter_context(asked)
        stack.enter_context(mock.patch.object(torch, "Generator", Generator))
        stack.enter_context(Operations(gpu))
        stack.enter_context(Functions(gpu))
        yield gpu


@contextmanager
def a_gpu() -> Iterator[SimulatedGpu | None]:
    """The machine's own (None), which the commands then see as well; otherwise a simulated one."""
    if torch.cuda.is_available():
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        with mock.patch.dict(commands.ENVIRONMENT, CUDA_VISIBLE_DEVICES=seen):
            yield None
    else:
        with simulated_gpu() as gpu:
            yield gpu
