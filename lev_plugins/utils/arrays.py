"""Reads the NumPy numbers in checkpoints without NumPy's own constructors.

``--eval-bleu`` leaves NumPy arrays and scalars in checkpoints. torch creates only allow-listed classes, and NumPy's are
not safe to list: a file can describe a dtype whose bytes are taken for Python objects, and so point anywhere in memory.
The stand-ins below are created in place of NumPy's classes, and read bytes only as integers or floats.
"""

import pickle
from typing import Any

import numpy as np

NUMBER_TYPES = {order + kind for order in "<>" for kind in ("f8", "f4", "i8", "i4")}


class NumberType:
    """Stands in for ``numpy.dtype``."""

    def __init__(self, text: str, *_: Any) -> None:
        self.text = text

    def __setstate__(self, state: Any) -> None:
        """Takes the pickled state: (version, byte order, ...)."""
        self.text = state[1] + self.text

    def read(self, raw: bytes, shape: Any = (), order: Any = "C") -> np.ndarray:
        """Returns an array of numbers; NumPy raises an error if there are too few bytes for its shape."""
        if self.text not in NUMBER_TYPES:
            raise pickle.UnpicklingError(f"its NumPy numbers must be floats or integers, but are {self.text!r}")
        return np.ndarray(shape, self.text, raw, order=order)


class NumberArray(np.ndarray):
    """Stands in for ``numpy.ndarray``: empty until its state is set."""

    def __new__(cls) -> "NumberArray":
        return np.empty(0).view(cls)

    def __setstate__(self, state: Any) -> None:
        """Takes the pickled state: (version, shape, dtype, whether columns come first, bytes)."""
        _, shape, kind, columns_first, raw = state
        super().__setstate__(kind.read(raw, shape, "F" if columns_first else "C").__reduce__()[2])

    def __reduce__(self) -> Any:
        """Pickles as NumPy's own array, so that the file can be read without this package."""
        return np.array(self).__reduce__()


def reconstruct(*_: Any) -> NumberArray:
    """Stands in for ``_reconstruct``, whose arguments the state replaces."""
    return NumberArray()


def scalar(kind: Any, raw: bytes) -> Any:
    """Stands in for ``scalar``, which creates a number from its bytes."""
    return kind.read(raw)[()]


# each with the names that it has in files of NumPy 1 and 2
STAND_INS: list[tuple[Any, str]] = [
    (NumberType, "numpy.dtype"),
    (NumberArray, "numpy.ndarray"),
    *((reconstruct, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")),
    *((scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),
]
