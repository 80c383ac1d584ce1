"""Checks what a graph reads and runs before ONNX Runtime loads it.

ONNX Runtime 1.23, the last for Python 3.10, opens any file that a graph names as the place of a tensor. The package
onnx, which could read a graph, is needed only to export, and protobuf takes as long to import as all graphs to check,
so the fields of a graph are read here by the numbers in onnx.proto.
"""

from collections.abc import Iterator
from pathlib import Path

from lev_plugins.editor.folder import GRAPH_WEIGHTS
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import AGAIN

# for each kind of message, the fields that hold messages, down to the tensors and operators
MESSAGES: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute", 7: "domain"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor"},
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {13: "external data"},
}
NUMBER, TEXT, SIZES = 0, 2, {0: 0, 1: 8, 5: 4}  # kinds of fields, and the bytes of those that are no text
DOMAINS = (b"", b"ai.onnx", b"com.microsoft")  # of the operators of ONNX, and of those that ONNX Runtime adds
# a key and its value, each after the number of its field and its length
LOCATION = b"\x0a\x08location\x12" + bytes([len(GRAPH_WEIGHTS)]) + GRAPH_WEIGHTS.encode()


def check_graph(path: Path) -> None:
    """Raises ``UserError`` for a graph with operators of others, or with tensors in another file than the weights."""
    try:
        for kind, content in leaves("model", path.read_bytes()):
            if kind == "domain":
                require(content in DOMAINS, f"an operator of {content.decode()[:60]}")
            else:
                elsewhere = content != LOCATION and b"location" in content
                require(not elsewhere, f"a tensor in another file than {GRAPH_WEIGHTS}")
    except Exception as error:  # whatever cannot be read is a fault of the file
        raise UserError(f"{path} is damaged, or has what no export writes ({error}): {AGAIN}") from error


def leaves(kind: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the kind and the content of the messages and texts in a message that have no messages themselves."""
    pending = [(kind, content)]  # not recursive, since the depth of a file has no limit
    while pending:
        kind, content = pending.pop()
        if kind not in MESSAGES:
            yield kind, content
            continue
        for number, value in fields_of(content):
            if number in MESSAGES[kind]:
                pending.append((MESSAGES[kind][number], value))


def fields_of(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the number and the value of each field that is text or a message; ONNX Runtime ignores others there.

    >>> list(fields_of(bytes([8, 150, 1, 18, 2, 97, 98])))
    [(2, b'ab')]
    """
    place = 0
    while place < len(message):
        key, place = read_number(message, place)
        require(key < 1 << 32, "the number of a field in more than 32 bits")  # ONNX Runtime would leave out the others
        kind = key & 7
        if kind == TEXT:
            size, place = read_number(message, place)
            yield key >> 3, message[place : place + size]
        else:
            require(kind in SIZES, f"a field of kind {kind}")
            size = SIZES[kind]
            if kind == NUMBER:
                _, place = read_number(message, place)
        place += size
    require(place == len(message), "a field that ends outside its message")


def read_number(message: bytes, place: int) -> tuple[int, int]:
    """Returns the number that begins at a place, seven bits in a byte, and the place behind it.

    >>> read_number(bytes([150, 1, 0]), 0)
    (150, 2)
    """
    number = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
    raise ValueError("a number of more than 64 bits")
