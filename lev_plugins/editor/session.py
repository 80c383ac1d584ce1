"""The graphs of a folder in ONNX Runtime."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import onnxruntime

from lev_plugins.editor.folder import GRAPH_WEIGHTS, path_of
from lev_plugins.editor.graph_file import check_graph
from lev_plugins.text.ids import Array
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import GRAPHS

SMALL = 50_000_000  # bytes of weights in 8 bits up to which copies of them, packed or transposed, hardly save time
TRANSPOSING = "QDQSelectorActionTransformer"  # makes such copies, which takes a quarter of the start
# of what is read of graphs: its kind, a float or an integer, and the number of its dimensions
OUTPUTS = {
    "deletion": ("f", (3,)),
    **dict.fromkeys(("no_insertion", "insertion", "log_probs"), ("f", (2,))),
    **dict.fromkeys(("insertion_count", "words_to_insert"), ("i", (2,))),
    "score": ("f", (1,)),
    "scores": ("f", (1, 2)),
}
WHOLE = re.compile(r"-?\d{1,9}")
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
TORCH_FOLDED = ["ConstantFolding"]  # what need not be done again: torch has computed with constants in the export
NO_CUDA = (
    "--device cuda: the installed ONNX Runtime cannot compute on a GPU: install the package onnxruntime-gpu (pip "
    "uninstall --yes onnxruntime && pip install onnxruntime-gpu) and its libraries of CUDA, or leave the flag out"
)


class Session:
    """One graph of a model folder."""

    def __init__(self, folder: Path, name: str, bits: int, device: str = "cpu") -> None:
        """
        folder: the model folder
        name: one of the graphs in ``editor.folder``
        bits: precision of the matrix products, 32 or 8
        device: cpu or cuda
        """
        require(device == "cpu" or CUDA in onnxruntime.get_available_providers(), NO_CUDA)
        weights = model_folder.member(folder, f"{GRAPHS}/{GRAPH_WEIGHTS}")
        self.path = model_folder.member(folder, path_of(name, bits))
        check_graph(self.path)
        options = onnxruntime.SessionOptions()
        # OMP_NUM_THREADS as in torch, but 1 by default: a small model gains little from more threads
        threads = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip() or "1"
        whole = WHOLE.fullmatch(threads) is not None
        require(whole, f"OMP_NUM_THREADS must be a whole number, but is {threads[:60]!r}")
        options.intra_op_num_threads = int(threads)
        options.log_severity_level = 4  # errors are raised as well
        options.enable_mem_pattern = False  # sizes differ from batch to batch
        options.enable_cpu_mem_arena = False  # an arena for each graph takes more memory and saves no time
        disabled = [*TORCH_FOLDED]
        if bits == 8 and weights.stat().st_size < SMALL:
            options.add_session_config_entry("session.disable_prepacking", "1")
            disabled.append(TRANSPOSING)
        providers = [CPU] if device == "cpu" else [CUDA, CPU]
        try:
            self.session = onnxruntime.InferenceSession(
                str(self.path), options, providers, disabled_optimizers=disabled
            )
        except Exception as error:  # of many kinds, all of which are faults of the folder
            raise self.fault("read", error) from error
        # ONNX Runtime falls back to the CPU without an error if CUDA cannot be loaded
        require(device == "cpu" or CUDA in self.session.get_providers(), NO_CUDA)
        # sizes, or the names of dynamic ones
        self.inputs = {value.name: value.shape for value in self.session.get_inputs()}
        self.outputs = [value.name for value in self.session.get_outputs()]

    def fault(self, action: str, error: Exception, advice: str = "") -> UserError:
        reason = " ".join(str(error).split())[-200:]
        return UserError(f"{self.path} cannot be {action} ({reason}): {advice}{model_folder.AGAIN}")

    def __call__(self, values: Mapping[str, Array], rows: int | None = None) -> list[Array]:
        """Runs the graph.

        values: by name; those that it does not read are ignored
        rows: that each of the outputs in ``OUTPUTS`` must have; None: any number
        """
        inputs = {name: value for name, value in values.items() if name in self.inputs}
        try:
            outputs = self.session.run(None, inputs)
        except Exception as error:
            raise self.fault("computed", error, "if memory is short, shorten the texts; otherwise, ") from error
        for name, output in zip(self.outputs, outputs, strict=True):
            kind, dimensions = OUTPUTS.get(name, (output.dtype.kind, (output.ndim,)))
            suitable = output.dtype.kind == kind and output.ndim in dimensions
            suitable &= rows is None or name not in OUTPUTS or len(output) == rows
            require(suitable, f"{self.path}: {name} is of another type or shape: {model_folder.AGAIN}")
        has_nan = any(output.dtype.kind == "f" and np.isnan(output).any() for output in outputs)
        require(not has_nan, f"{self.path} computes NaN: {model_folder.AGAIN}")
        return outputs


class GraphModel(Protocol):
    """A model that can run each of its graphs once."""

    def try_out(self) -> None: ...


Model = TypeVar("Model", bound=GraphModel)


def after_trial(model: Model, folder: Path) -> Model:
    """Returns a model after all its graphs have run once: what fails is a fault of the folder, which may be hostile."""
    try:
        model.try_out()
    except UserError:
        raise
    except (IndexError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise UserError(f"the graphs in {folder} do not fit its model ({reason}): {model_folder.AGAIN}") from error
    return model
