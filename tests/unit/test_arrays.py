"""NumPy's numbers in checkpoints: as they were, and nothing but numbers."""

import io
import pickle
import pickletools
from typing import Any

import numpy as np
import pytest
import torch

from lev_plugins import arrays, checkpoints


def through_a_file(value: Any) -> Any:
    file = io.BytesIO()
    torch.save({"value": value}, file)
    file.seek(0)
    with checkpoints.only_plain_classes():
        return torch.load(file, weights_only=True)["value"]


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", ">f8"])
def test_numbers_come_back(kind: str) -> None:
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(3, 2)), np.array(7)):
        given = array.astype(kind)
        found = through_a_file(given)
        assert found.dtype.kind == given.dtype.kind and found.shape == given.shape and (found == given).all()
        again = pickle.loads(pickle.dumps(found))  # for those who read it without this package
        assert type(again) is np.ndarray and (again == given).all()
    (number,) = np.array([2.0], kind)
    assert through_a_file(number) == number


@pytest.mark.parametrize(
    "value",
    [np.array(["a"]), np.array([object()]), np.zeros(3, "i8,i8"), np.array([True]), np.array([1j]), np.str_("a")],
)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(pickle.UnpicklingError, match="in it is not one of plain numbers"):
        through_a_file(value)


PLAIN = (3, "<", None, None, None, -1, -1, 0)


@pytest.mark.parametrize(
    "state",
    [
        (3, "<", (np.dtype("O"), ()), None, None, -1, -1, 0),  # looks like numbers, and its bytes are objects
        (3, "<", None, ("a",), {"a": (np.dtype("O"), 0)}, -1, -1, 0),
        (3, "<", None, None, None, 8, 8, 63),
        (3, "|O", None, None, None, -1, -1, 0),
        (3, "<", None, None, None, -1, -1, 0, {}),
        None,
    ],
)
def test_a_kind_of_numbers_stays_one(state: Any) -> None:
    kind = arrays.NumberType("f8", False, True)
    kind.__setstate__(PLAIN)
    with pytest.raises(pickle.UnpicklingError):
        kind.__setstate__(state)
    assert kind.dtype == np.float64


def test_bytes_have_the_size_of_the_numbers() -> None:
    kind, array = arrays.NumberType("f8"), arrays.Numbers()
    for shape, raw in (((2,), b"1" * 8), ((1,), b"1" * 7), ((-1,), b""), ((2**62, 4), b""), ((1.0,), b"1" * 8)):
        with pytest.raises(pickle.UnpicklingError):
            array.__setstate__((1, shape, kind, False, raw))
    for raw in (b"1" * 7, "1" * 8, np.zeros(1)):
        with pytest.raises(pickle.UnpicklingError):
            arrays.scalar(kind, raw)
    with pytest.raises(pickle.UnpicklingError):
        arrays.Numbers((4,), kind, b"1" * 32)  # of a buffer
    with pytest.raises(pickle.UnpicklingError):
        arrays.reconstructed(np.ndarray, (0,), b"b")


def test_numpys_own_constructors_are_not_allowed() -> None:
    """torch creates what a file names from these alone, whatever other code allows."""
    with torch.serialization.safe_globals([np.dtype, np.ndarray]), checkpoints.only_plain_classes():
        given = torch.serialization.get_safe_globals()
    assert np.dtype not in torch.serialization.get_safe_globals()
    allowed = [each[0] if isinstance(each, tuple) else each for each in given]
    assert not any(each in allowed for each in (np.dtype, np.ndarray, type(np.dtype("f8"))))
    names = {
        argument for _, argument, _ in pickletools.genops(pickle.dumps(np.zeros(2), 2)) if "numpy" in str(argument)
    }
    known = {name for _, name in arrays.STAND_INS}
    assert names and {str(name).replace(" ", ".") for name in names} <= known
