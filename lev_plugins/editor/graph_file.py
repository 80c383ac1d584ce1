"""What a graph of a model folder may contain, checked before ONNX Runtime reads it, as a folder may be a stranger's.

A graph is a message of Protocol Buffers, as onnx.proto describes it; the package onnx is needed only to export. What no
export writes is refused, among it loops, conditions, functions, and sparse tensors, which may be far larger than the
file.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.empty_pb2 import Empty
from google.protobuf.unknown_fields import UnknownFieldSet

from lev_plugins.editor.folder import GRAPH_WEIGHTS
from lev_plugins.text.ids import Array
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import AGAIN

Value = Any  # of a field of a message: a number, bytes, or a group of fields

# what torch writes for our models, in the versions from 2.6 on, and what stands for it in 8 bits
OPERATORS = frozenset(
    b"Abs Add And ArgMax ArgMin Cast CastLike Ceil Clip Concat Constant ConstantOfShape Cos CumSum DequantizeLinear "
    b"Div DynamicQuantizeLinear Einsum Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND Gelu Gemm "
    b"Greater GreaterOrEqual Identity IsInf IsNaN LayerNormalization Less LessOrEqual Log LogSoftmax MatMul "
    b"MatMulInteger Max Mean Min Mod Mul MultiHeadAttention Neg Not Or Pad Pow QuantizeLinear Range Reciprocal "
    b"ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape "
    b"Round ScatterElements ScatterND Shape Sigmoid Sign Sin Size Slice Softmax Softplus Split Sqrt Squeeze Sub Sum "
    b"Tanh Tile TopK Transpose Trilu Unsqueeze Where Xor".split()
)
# the numbers of the fields that each kind of message may have, and the kind of those that are messages
FIELDS: dict[str, dict[int, str]] = {
    "model": {**dict.fromkeys((1, 2, 3, 4, 5, 6, 8, 14), ""), 7: "graph"},
    "graph": {**dict.fromkeys((2, 10, 11, 12, 13, 16), ""), 1: "node", 5: "tensor"},
    "node": {**dict.fromkeys((1, 2, 3, 4, 6, 7, 9), ""), 5: "attribute"},
    "attribute": {**dict.fromkeys((1, 2, 3, 4, 7, 8, 9, 13, 20), ""), 5: "tensor"},
    "tensor": dict.fromkeys((1, 2, 4, 5, 7, 8, 9, 12, 13, 14, 16), ""),
}
OPERATOR, DOMAIN = 4, 7  # of a node
TYPE, FLOATS, INTEGERS, NAME, RAW, EXTERNAL = 2, 4, 5, 8, 9, 13  # of a tensor
FLOATS_OF = {1: "<f4", 10: "<f2"}  # types of tensors: numbers in 32 and 16 bits
WHOLE = {2, 3, 6, 7, 9}  # types of numbers that are never NaN


def check_graph(path: Path, weights: Path) -> None:
    """Raises ``UserError`` for a graph that no export writes, or with weights that are not finite.

    ``weights``: the file that has its large tensors.
    """
    try:
        stored = np.memmap(weights, np.uint8, "r")
        for kind, fields in messages("model", path.read_bytes()):
            if kind == "node":
                operator, domain = (b"".join(fields[number]) for number in (OPERATOR, DOMAIN))
                permitted = operator in OPERATORS and domain in (b"", b"com.microsoft")
                require(permitted, f"the operator {operator.decode()[:60]}")
            elif kind == "tensor":
                name, number_type = b"".join(fields[NAME]), fields[TYPE][-1]
                require(number_type in WHOLE or number_type in FLOATS_OF, f"numbers of type {number_type}")
                # where numbers in 16 bits may stand that are not checked below
                require(number_type in WHOLE or not fields[INTEGERS], f"{name.decode()} has integers for its floats")
                require(is_finite(name, fields, stored), f"NaN or infinite weights in {name.decode()}")
    except Exception as error:  # whatever cannot be read is a fault of the file
        raise UserError(f"{path} is damaged, or has what no export writes ({error}): {AGAIN}") from error


def is_finite(name: bytes, tensor: dict[int, list[Value]], stored: Array) -> bool:
    if tensor[TYPE][-1] in WHOLE:
        return True
    form = FLOATS_OF[tensor[TYPE][-1]]
    parts = [np.frombuffer(b"".join(tensor[FLOATS] + tensor[RAW]), form)]
    if tensor[EXTERNAL]:
        place = dict(tuple(value for _, value in fields_of(entry)) for entry in tensor[EXTERNAL])
        start, file = int(place[b"offset"]), {GRAPH_WEIGHTS.encode(): stored}[place[b"location"]]  # no other file
        parts.append(file[start : start + int(place[b"length"])].view(form))
    # -inf may stand in constants, which have no name (masks of attention), and in ``never`` of older graphs, which was
    # added to the scores of words that are never written
    minimum = -np.inf if name in (b"", b"never") else np.finfo(form).min
    return all(part.min(initial=0) >= minimum and part.max(initial=0) < np.inf for part in parts)


def messages(kind: str, content: bytes) -> Iterator[tuple[str, dict[int, list[Value]]]]:
    """Yields the values of all fields of a message, by their numbers, and then those of the messages in it."""
    fields = defaultdict[int, list[Value]](list)
    for number, value in fields_of(content):
        require(number in FIELDS[kind], f"field {number} of a {kind}")
        fields[number].append(value)
    yield kind, fields
    for number, inner in FIELDS[kind].items():
        for value in fields[number] if inner else ():
            yield from messages(inner, value)


def fields_of(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yields the number and the value of each field.

    >>> list(fields_of(bytes([8, 150, 1, 18, 2, 97, 98])))
    [(1, 150), (2, b'ab')]
    """
    return ((field.field_number, field.data) for field in UnknownFieldSet(Empty.FromString(message)))
