"""NumPy's numbers in checkpoints, read without NumPy's own constructors.

``--eval-bleu`` leaves arrays and numbers of NumPy in checkpoints. torch reads a file with the classes that are allowed,
and NumPy's are not plain containers: a file can describe a dtype whose bytes are taken for Python objects, and so name
any place in memory. The stand-ins here have the same names in the file, and take whole numbers and floats alone.
"""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np

KINDS = {"f8", "f4", "i8", "i4"}
PLAIN = (None, None, None, -1, -1, 0)  # no parts, no shape, no names; no alignment, no flags
MOST_DIMENSIONS = 8


def refuse_unless(good: bool, what: str) -> None:
    if not good:
        raise pickle.UnpicklingError(f"a NumPy {what} in it is not one of plain numbers")


class NumberType:
    """In place of ``numpy.dtype``."""

    def __init__(self, text: Any, *_: Any):
        refuse_unless(type(text) is str and text in KINDS, "dtype")
        self.text = f"<{text}"

    def __setstate__(self, state: Any) -> None:
        """(version, byte order, ...)"""
        plain = type(state) is tuple and len(state) == 8 and type(state[0]) is int and state[2:] == PLAIN
        refuse_unless(plain and state[1] in ("<", ">"), "dtype")
        self.text = state[1] + self.text[1:]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.text)


class Numbers(np.ndarray):
    """In place of ``numpy.ndarray``: empty until its state says what it has."""

    def __new__(cls, *arguments: Any) -> Numbers:
        refuse_unless(not arguments, "array")
        return np.empty(0).view(cls)

    def __setstate__(self, state: Any) -> None:
        """(version, shape, dtype, whether columns come first, bytes)"""
        refuse_unless(type(state) is tuple and len(state) == 5, "array")
        _, shape, kind, columns_first, raw = state
        refuse_unless(type(kind) is NumberType and type(raw) is bytes and type(columns_first) is bool, "array")
        refuse_unless(type(shape) is tuple and len(shape) <= MOST_DIMENSIONS, "array")
        refuse_unless(all(type(size) is int and 0 <= size <= len(raw) for size in shape), "array")
        refuse_unless(kind.dtype.itemsize * math.prod(shape) == len(raw), "array")
        super().__setstate__((1, shape, kind.dtype, columns_first, raw))

    def __reduce__(self) -> Any:
        """As an array of NumPy, for those who read it without this package."""
        return np.array(self).__reduce__()


def reconstructed(kind: Any, *_: Any) -> Numbers:
    """In place of ``_reconstruct``, which gets the class, an empty shape and a type that the state replaces."""
    refuse_unless(kind is Numbers, "array")
    return Numbers()


def scalar(kind: Any, raw: Any) -> Any:
    refuse_unless(type(kind) is NumberType and type(raw) is bytes and len(raw) == kind.dtype.itemsize, "number")
    return np.frombuffer(raw, kind.dtype)[0]


# each with the names that it has in files of NumPy 1 and 2
STAND_INS: list[tuple[Any, str]] = [
    (NumberType, "numpy.dtype"),
    (Numbers, "numpy.ndarray"),
    *((reconstructed, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")),
    *((scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),
]
