"""A simulated GPU: tensors report ``cuda:0``, and mixing devices fails as it does on a GPU.

The numbers are computed on the CPU. The simulation covers where tensors are, which of them can be combined, and when
the host waits for the device; it covers neither speed, nor memory, nor the rounding of CUDA.
"""

import os
import sys
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
PACKAGE_FOLDER = f"{os.sep}lev_plugins{os.sep}"
# operations for whose result, or for its size, the host waits
SYNCHRONOUS = {"_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "masked_select", "_unique2", "bincount"}
SYNCHRONOUS |= {"unique_dim", "unique_consecutive", "multinomial"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
HOST_READS = {torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__}
FROM_HOST = {torch.tensor, torch.as_tensor, torch.from_numpy}


class SimulatedGpu:
    """The memory on the GPU, and the number of times that the package waited for the GPU."""

    def __init__(self) -> None:
        self.memory: dict[int, StorageWeakRef] = {}
        self.waited = 0

    def has(self, x: Any) -> bool:
        return isinstance(x, Tensor) and x.untyped_storage()._cdata in self.memory

    def put(self, x: Any, on_device: bool = True) -> Any:
        if isinstance(x, Tensor) and on_device:
            storage = x.untyped_storage()
            self.memory[storage._cdata] = StorageWeakRef(storage)  # keeps the address from being reused
        elif isinstance(x, Tensor):
            self.memory.pop(x.untyped_storage()._cdata, None)
        return x

    def wait(self) -> None:
        """Counts a wait unless fairseq or torch caused it without the package."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and PACKAGE_FOLDER not in frame.f_code.co_filename:
            frame = frame.f_back
        self.waited += frame is not None

    def move(self, x: Tensor, device: Any, non_blocking: bool = False) -> Tensor:
        if on_gpu(device) == self.has(x):
            return x
        if not non_blocking:
            self.wait()
        return self.put(x.clone(), on_gpu(device))


def on_gpu(device: Any) -> bool:
    return isinstance(device, int) or torch.device(device).type == "cuda"  # a number is the index of a GPU


class DeviceFunctions(TorchFunctionMode):
    """Simulates the functions that report a tensor's device, move it, create it, or read its values."""

    def __init__(self, gpu: SimulatedGpu):
        super().__init__()
        self.gpu = gpu

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        gpu, options = self.gpu, dict(kwargs or {})
        is_cuda = bool(args) and gpu.has(args[0])
        if func == torch.Tensor.device.__get__:
            return CUDA if is_cuda else func(*args)
        if func == torch.Tensor.is_cuda.__get__:
            return is_cuda
        if func in (torch.Tensor.cuda, torch.Tensor.cpu):
            return gpu.move(args[0], CUDA if func is torch.Tensor.cuda else "cpu")
        if func in HOST_READS and is_cuda:
            if func is not torch.Tensor.tolist:
                raise TypeError("can't convert cuda:0 device type tensor to numpy")
            gpu.wait()
        if func in (torch.Tensor.to, torch.Tensor.type_as):
            return self.to(*args, **options)
        if func is torch.Tensor.new_tensor and is_cuda:
            gpu.wait()
            return gpu.put(func(*args, **options))
        generator = options.get("generator")
        if generator is not None and is_cuda and generator.device != CUDA:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        device = options.pop("device", None)
        if device is None or func is torch._C._nn._parse_to:  # Module.to parses its arguments with it
            return func(*args, **(kwargs or {}))
        x = func(*args, **options)
        return gpu.move(x, device) if func in FROM_HOST else gpu.put(x, on_gpu(device))

    def to(self, x: Tensor, *args: Any, **options: Any) -> Tensor:
        device, dtype = options.pop("device", None), options.pop("dtype", None)
        for value in (*args, options.pop("other", None)):
            if isinstance(value, Tensor):
                device, dtype = CUDA if self.gpu.has(value) else "cpu", value.dtype
            elif isinstance(value, torch.dtype):
                dtype = value
            elif isinstance(value, (str, int, torch.device)) and not isinstance(value, bool):
                device = value
        if device is not None:
            x = self.gpu.move(x, device, options.pop("non_blocking", False) and on_gpu(device))
        return x if dtype is None else torch.Tensor.to(x, dtype=dtype, copy=options.get("copy", False))


class DeviceOperations(TorchDispatchMode):
    """Simulates the operations, also those of backward passes."""

    def __init__(self, gpu: SimulatedGpu):
        super().__init__()
        self.gpu = gpu

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():
            options = kwargs or {}
            inputs = [x for x in tree_leaves((args, options)) if isinstance(x, Tensor)]
            if not any(map(self.gpu.has, inputs)):
                return func(*args, **options)
            self.check(func, args, options, inputs)
            outputs = func(*args, **options)
            for x in tree_leaves(outputs):
                if not any(x is tensor for tensor in inputs):
                    self.gpu.put(x)
            return outputs

    def check(self, func: Any, args: Any, options: Any, inputs: list[Tensor]) -> None:
        gpu, name, on_host = self.gpu, func.overloadpacket.__name__, [x for x in inputs if not self.gpu.has(x)]
        if name in ("copy_", "_copy_from"):
            return gpu.wait() if on_host else None
        if name in INDEXING:
            indices = [x for x in args[1] if x is not None]
            if not gpu.has(args[0]):
                raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
            masks = any(x.dtype in (torch.bool, torch.uint8) for x in indices)
            is_masked_fill = len(args) > 2 and args[2].numel() == 1 and len(indices) == 1
            if (masks and not is_masked_fill) or any(x.dim() and not gpu.has(x) for x in indices):
                gpu.wait()
            on_host = [x for x in args[2:3] if not gpu.has(x)]
        if any(x.dim() for x in on_host):
            raise RuntimeError(f"Expected all tensors to be on the same device, but {func} got cuda:0 and cpu")
        if "mkldnn" in str(func) or "onednn" in str(func):
            raise NotImplementedError(f"{func} has no kernel for CUDA")
        has_size = options.get("output_size") is not None or isinstance(args[-1], int)
        if name in SYNCHRONOUS or (name == "repeat_interleave" and not has_size):
            gpu.wait()


class DeviceGenerator(torch.Generator):
    device = torch.device("cpu")  # type: ignore[assignment]

    def __new__(cls, device: Any = "cpu") -> "DeviceGenerator":
        generator = super().__new__(cls)
        generator.device = torch.device(device)
        return generator


def cuda_functions() -> dict[str, Any]:
    """Returns replacements for the functions of ``torch.cuda`` that fairseq calls."""
    properties = SimpleNamespace(major=9, minor=0, total_memory=1 << 36, name="simulated", multi_processor_count=1)
    values: dict[str, Any] = {"is_available": True, "device_count": 1, "current_device": 0}
    values |= {"get_device_properties": properties, "get_device_capability": (9, 0), "get_rng_state": torch.zeros(1)}
    nothing = ("set_device", "set_rng_state", "manual_seed", "manual_seed_all", "empty_cache", "synchronize")
    memory = ("memory_allocated", "max_memory_allocated", "reset_peak_memory_stats", "memory_summary")
    values |= dict.fromkeys(nothing) | dict.fromkeys(memory, 0) | {"device": nullcontext()}
    return {name: constant(value) for name, value in values.items()}


def constant(value: Any) -> Callable[..., Any]:
    return lambda *args, **options: value


@contextmanager
def simulated_gpu() -> Iterator[SimulatedGpu]:
    gpu, enabled = SimulatedGpu(), torch.is_autocast_enabled
    half = partial(torch.autocast, "cpu", torch.float16)  # the CPU's autocast in the precision of a GPU's
    with ExitStack() as stack:
        for context in (
            mock.patch.multiple(torch.cuda, **cuda_functions()),
            mock.patch.object(torch.cuda.amp, "autocast", half),
            mock.patch.object(torch, "is_autocast_enabled", lambda kind="cuda": kind == "cuda" and enabled("cpu")),
            mock.patch.object(torch, "Generator", DeviceGenerator),
            DeviceOperations(gpu),
            DeviceFunctions(gpu),
        ):
            stack.enter_context(context)
        yield gpu


@contextmanager
def a_gpu() -> Iterator[SimulatedGpu | None]:
    """Makes the machine's GPU visible to commands (yields None), or simulates one where there is none."""
    if torch.cuda.is_available():
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        with mock.patch.dict(commands.ENVIRONMENT, CUDA_VISIBLE_DEVICES=visible):
            yield None
    else:
        with simulated_gpu() as gpu:
            yield gpu
