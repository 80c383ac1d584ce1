"""The graphs of a folder in ONNX Runtime."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from lev_plugins import model_folder
from lev_plugins.errors import UserError
from lev_plugins.memory import keep_freed
from lev_plugins.runtime.folder import GRAPHS, WEIGHTS, path_of
from lev_plugins.text.candidates import PAD, Rows


class Session:
    """One graph."""

    def __init__(self, folder: Path, name: str, bits: int):
        keep_freed()
        model_folder.member(folder, f"{GRAPHS}/{WEIGHTS}")
        path = model_folder.member(folder, path_of(name, bits))
        options = onnxruntime.SessionOptions()
        # as torch has it; a small model gains little from more
        options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "1").split(",")[0].strip() or 1)
        options.log_severity_level = 3
        options.enable_mem_pattern = False  # sizes differ from batch to batch
        options.enable_cpu_mem_arena = False
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # of many kinds, all of which are faults of the folder
            reason = " ".join(str(error).split())[:200]
            raise UserError(f"{path} cannot be read ({reason}): {model_folder.AGAIN}") from error
        self.inputs = {given.name: given.shape for given in self.session.get_inputs()}  # a size or its name
        self.outputs = [said.name for said in self.session.get_outputs()]

    def __call__(self, **given: NDArray[Any]) -> list[NDArray[Any]]:
        return self.session.run(None, {name: value for name, value in given.items() if name in self.inputs})


def padded(rows: Rows, fill: int = PAD) -> NDArray[Any]:
    """
    >>> padded([[5, 6], [7]]).tolist()
    [[5, 6], [7, 1]]
    """
    table = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table
