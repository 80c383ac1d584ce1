"""Writes a model as ONNX graphs, which ``lev_plugins.editor`` runs without torch.

encoder   a source -> the keys and values that each decoder block reads of it, and the vectors of unknown words
decide    a text -> what the deletion and the placeholder policy say of it, both in one pass
fill      a text with placeholders -> the best words for each of them, and their log-probabilities
start     of a model that writes from left to right: a source -> what its first word may be, and the state
step      texts, and their state -> what comes next, and the parts of the state that are longer now
score     sources, and a text for each -> how likely it is
label     of an enct5: texts -> the scores of their labels

What depends on the dictionary alone is looked up outside: for each word, its row of each table.
``editor.word_features`` does that. A graph has all the rest: vectors, blocks, policies, and the choice. All graphs
share one file of weights. The names of their inputs are those of the fields and parameters that the modules read
(``export.tracing.named``). The modules are in ``export.levt_graphs`` (encoder, decide and fill),
``export.search_graphs`` (start, step and score) and ``export.label_graph``.
"""

import hashlib
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from fairseq.models import FairseqEncoderDecoderModel
from onnx.external_data_helper import set_external_data
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn

from lev_plugins.editor.folder import ENDINGS, GRAPH_WEIGHTS, INDEX, path_of, stored_arrays
from lev_plugins.editor.session import CPU, TORCH_FOLDED
from lev_plugins.export.compact import TABLE_MAX, rounded
from lev_plugins.export.label_graph import enct5_graphs
from lev_plugins.export.levt_graphs import levt_graphs
from lev_plugins.export.search_graphs import seq2seq_graphs
from lev_plugins.export.tracing import Traced, trace
from lev_plugins.labelling.model import EncT5
from lev_plugins.levt.model import LevT
from lev_plugins.utils.model_folder import GRAPHS

ALIGNED = 64  # weights begin at multiples of it in their file, so that they can be used where they are mapped
MAX_INLINE = 256  # bytes of a tensor that stays in its graph


def write(model: FairseqEncoderDecoderModel | EncT5, folder: Path, only_compact: bool = False) -> None:
    """Writes the graphs of a model, in 32 and in 8 bits, and with --spelling, the index of its words.

    model: a levt, an enct5, or an encoder-decoder of fairseq
    folder: the model folder
    only_compact: of a model that ``has_compact_form``, no graphs in 32 bits
    """
    (folder / GRAPHS).mkdir()
    with warnings.catch_warnings(), torch.no_grad():
        compacts = has_compact_form(model)
        # warnings that some sizes are fixed, as intended, and of torch about GPUs while oneDNN is switched off
        warnings.simplefilter("ignore")
        with torch.backends.mkldnn.flags(enabled=False):
            graphs = {} if compacts and only_compact else graphs_of(model)
            in_8_bits = levt_graphs(model, is_compact=True) if compacts else {}
            for bits, some in {32: graphs, 8: in_8_bits}.items():
                for name, traced in some.items():
                    trace(traced, folder / path_of(name, bits))
    logging.disable(logging.WARNING)  # advice on how to prepare a graph for rounding
    try:
        for name in graphs | in_8_bits:
            exact, in_8 = (folder / path_of(name, bits) for bits in ENDINGS)
            if compacts:
                round_weights(in_8)
            else:
                # 7 bits, so that processors without VNNI, which add up in 16 bits, do not overflow
                options: dict[str, Any] = {"per_channel": True, "reduce_range": True, "weight_type": QuantType.QInt8}
                quantize_dynamic(exact, in_8, ["MatMul"], **options)
    finally:
        logging.disable(logging.NOTSET)
    paths = sorted((folder / GRAPHS).iterdir())
    for path in paths:
        simplify(path)
    share_weights(paths, folder / GRAPHS / GRAPH_WEIGHTS)
    index = model.word_index if isinstance(model, (LevT, EncT5)) else None
    if index is not None:
        np.savez(folder / INDEX, **stored_arrays(index))  # type: ignore[arg-type]


def round_weights(path: Path) -> None:
    """Rounds the matrices of a graph to 8 bits, each column by its own scale; products stay in 32 bits.

    Products in 8 bits would round the other factor as well, by one scale for a whole batch: then what is written for a
    text would depend on its neighbours.
    """
    model = onnx.load(path)
    inputs = [(node.op_type, place, name) for node in model.graph.node for place, name in enumerate(node.input)]
    exact = {name for kind, place, name in inputs if (kind, place) != ("MatMul", 1)}
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    matrices = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in tensors.items() if name not in exact}
    nodes = []
    for name, matrix in matrices.items():
        columns, scales = rounded(torch.tensor(matrix).t(), TABLE_MAX)
        parts = {f"{name}.integers": columns.t().contiguous(), f"{name}.scales": scales}
        tensors |= {part: onnx.numpy_helper.from_array(values.numpy(), part) for part, values in parts.items()}
        nodes.append(onnx.helper.make_node("DequantizeLinear", [*parts], [f"{name}.rounded"], axis=1))
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in matrices:
            node.input[1] = f"{node.input[1]}.rounded"
        nodes.append(node)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(tensor for name, tensor in tensors.items() if name not in matrices)
    path.write_bytes(model.SerializeToString())


def has_compact_form(model: nn.Module) -> bool:
    """Returns whether a model has a form in which each vector of a word is stored once, in 8 bits."""
    return isinstance(model, LevT) and model.word_index is not None and model.encoder.reader is None


def graphs_of(model: FairseqEncoderDecoderModel | EncT5) -> dict[str, Traced]:
    if isinstance(model, LevT):
        return levt_graphs(model)
    return enct5_graphs(model) if isinstance(model, EncT5) else seq2seq_graphs(model)


def simplify(path: Path) -> None:
    """Simplifies a graph as ONNX Runtime does on any processor, which saves each editor a third of its start."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(path), options, [CPU], disabled_optimizers=TORCH_FOLDED)


def share_weights(paths: list[Path], weights: Path) -> None:
    """Moves the large tensors of several graphs into one file, each of them once."""
    places: dict[str, int] = {}
    with weights.open("wb") as file:
        for path in paths:
            model = onnx.load(path)
            for node in model.graph.node:  # their names take a third of the file
                node.ClearField("name")
            domains = {node.domain for node in model.graph.node}
            for opset in [opset for opset in model.opset_import if opset.domain not in domains]:
                model.opset_import.remove(opset)  # which not all versions of ONNX Runtime know
            constants = [node for node in model.graph.node if node.op_type == "Constant"]
            for node in constants:  # such as buffers that are not stored in a checkpoint
                if node.attribute[0].name == "value" and len(node.attribute[0].t.raw_data) > MAX_INLINE:
                    model.graph.initializer.add().CopyFrom(node.attribute[0].t)
                    model.graph.initializer[-1].name = node.output[0]
                    model.graph.node.remove(node)
            for tensor in model.graph.initializer:
                data = onnx.numpy_helper.to_array(tensor).tobytes()
                if len(data) <= MAX_INLINE:
                    continue
                digest = hashlib.sha256(data).hexdigest()
                if digest not in places:
                    file.write(bytes(-file.tell() % ALIGNED))
                    places[digest] = file.tell()
                    file.write(data)
                tensor.raw_data = data  # where the next line looks for them
                set_external_data(tensor, weights.name, places[digest], len(data))
                tensor.ClearField("raw_data")
            path.write_bytes(model.SerializeToString())
