"""Reads the NumPy numbers in checkpoints without NumPy's own constructors.

``--eval-bleu`` leaves NumPy arrays and scalars in checkpoints. torch creates only allow-listed classes, and NumPy's are
not safe to list: a file can describe a dtype whose bytes are taken for Python objects, and so point anywhere in memory.
The stand-ins below are created in place of NumPy's classes, and accept nothing but integers and floats.
"""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np

NUMBER_TYPES = {"f8", "f4", "i8", "i4"}
PLAIN_STATE = (None, None, None, -1, -1, 0)  # no subarray, no fields, no names; no alignment, no flags
MAX_DIMENSIONS = 8


def require_numbers(condition: bool, noun: str) -> None:
    if not condition:
        raise pickle.UnpicklingError(f"a NumPy {noun} in it is not one of plain numbers")


class NumberType:
    """Stands in for ``numpy.dtype``."""

    def __init__(self, text: Any, *_: Any) -> None:
        require_numbers(type(text) is str and text in NUMBER_TYPES, "dtype")
        self.text = f"<{text}"

    def __setstate__(self, state: Any) -> None:
        """Takes the pickled state: (version, byte order, ...)."""
        plain = type(state) is tuple and len(state) == 8 and type(state[0]) is int and state[2:] == PLAIN_STATE
        require_numbers(plain and state[1] in ("<", ">"), "dtype")
        self.text = state[1] + self.text[1:]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.text)


class NumberArray(np.ndarray):
    """Stands in for ``numpy.ndarray``: empty until its state is set."""

    def __new__(cls, *arguments: Any) -> NumberArray:
        require_numbers(not arguments, "array")
        return np.empty(0).view(cls)

    def __setstate__(self, state: Any) -> None:
        """Takes the pickled state: (version, shape, dtype, whether columns come first, bytes)."""
        require_numbers(type(state) is tuple and len(state) == 5, "array")
        _, shape, kind, columns_first, raw = state
        require_numbers(type(kind) is NumberType and type(raw) is bytes and type(columns_first) is bool, "array")
        require_numbers(type(shape) is tuple and len(shape) <= MAX_DIMENSIONS, "array")
        require_numbers(all(type(size) is int and 0 <= size <= len(raw) for size in shape), "array")
        require_numbers(kind.dtype.itemsize * math.prod(shape) == len(raw), "array")
        super().__setstate__((1, shape, kind.dtype, columns_first, raw))

    def __reduce__(self) -> Any:
        """Pickles as NumPy's own array, so that the file can be read without this package."""
        return np.array(self).__reduce__()


def reconstruct(kind: Any, *_: Any) -> NumberArray:
    """Stands in for ``_reconstruct``, whose other arguments, an empty shape and a dtype, the state replaces."""
    require_numbers(kind is NumberArray, "array")
    return NumberArray()


def scalar(kind: Any, raw: Any) -> Any:
    """Stands in for ``scalar``, which creates a number from its bytes."""
    require_numbers(type(kind) is NumberType and type(raw) is bytes and len(raw) == kind.dtype.itemsize, "number")
    return np.frombuffer(raw, kind.dtype)[0]


# each with the names that it has in files of NumPy 1 and 2
STAND_INS: list[tuple[Any, str]] = [
    (NumberType, "numpy.dtype"),
    (NumberArray, "numpy.ndarray"),
    *((reconstruct, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")),
    *((scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),
]
