"""Graphs of a folder from others: each is refused in one line when the folder is loaded, whatever it would do."""

import re
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lev_plugins
from lev_plugins.editor.graph_file import check_graph
from lev_plugins.editor.session import Session
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal
from tests.systems import SYSTEMS

onnx = pytest.importorskip("onnx")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

LEVT, WRITER, LABELLER = "levt", "pbd", "classification"
Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    places = {name: tmp_path_factory.mktemp(name) for name in (LEVT, WRITER, LABELLER)}
    return {name: SYSTEMS[name](place).export(place / "out") for name, place in places.items()}


@pytest.fixture
def refused(originals: dict[str, Path], tmp_path: Path, refusal: Refusal) -> Callable[..., str]:
    """What ``edit`` or ``label`` says of a folder that was changed, with the digests of its new files."""

    def of(system: str, change: Change) -> str:
        folder = changed_folder(originals[system], tmp_path / "folder", change)
        said = refusal("label" if system == LABELLER else "edit", folder)
        assert said.rstrip().endswith(model_folder.AGAIN)
        return said

    return of


def changed_folder(original: Path, folder: Path, change: Change) -> Path:
    """A copy of the folder that was changed, with the digests of its new files."""
    shutil.copytree(original, folder)
    change(folder)
    config = model_folder.read_unchecked(folder)
    config.files.update({name: model_folder.digest(folder / name) for name in config.files})
    model_folder.save(config, folder)
    return folder


def graph(name: str, change: Callable[[Any], None]) -> Change:
    """A change of one graph; its large tensors stay in their file."""

    def rewrite(folder: Path) -> None:
        path = folder / "graphs" / f"{name}.onnx"
        model = onnx.load(path, load_external_data=False)
        change(model)
        path.write_bytes(model.SerializeToString())

    return rewrite


def adding(*nodes: Any, **tables: Any) -> Callable[[Any], None]:
    """These nodes, with tables as their inputs; what the last of them computes is added to the graph's first output."""

    def change(model: Any) -> None:
        output = model.graph.output[0].name
        (last,) = (node for node in model.graph.node if output in node.output)
        last.output[list(last.output).index(output)] = "before"
        model.graph.initializer.extend(numpy_helper.from_array(np.array(v), name) for name, v in tables.items())
        total = helper.make_node("ReduceSum", [nodes[-1].output[0]], ["total"], keepdims=0)
        model.graph.node.extend([*nodes, total, helper.make_node("Add", ["before", "total"], [output])])

    return change


def node(operator: str, *inputs: str, output: str = "grown", **attributes: Any) -> Any:
    return helper.make_node(operator, inputs, [output], **attributes)


# ---- memory ----------------------------------------------------------------------------------------------------------
MILLIONS = np.array([10**6, 10**6])  # numbers of 32 bits, more than any machine has room for
ONES = np.ones((1, 1), dtype=np.float32)
GROWING: dict[str, Callable[[Any], None]] = {
    "ConstantOfShape": adding(node("ConstantOfShape", "shape"), shape=MILLIONS),
    "Expand": adding(node("Expand", "one", "shape"), one=ONES, shape=MILLIONS),
    "Tile": adding(node("Tile", "one", "shape"), one=ONES, shape=MILLIONS),
    "Pad": adding(node("Pad", "one", "pads"), one=ONES, pads=np.array([0, 0, 10**6 - 1, 10**6 - 1])),
    "MatMul": adding(
        node("Expand", "one", "tall", output="column"),
        node("Expand", "one", "wide", output="row"),
        node("MatMul", "column", "row"),
        one=ONES,
        tall=np.array([10**6, 1]),
        wide=np.array([1, 10**6]),
    ),
}


@pytest.mark.parametrize("operator", GROWING)
def test_a_graph_gets_no_more_than_its_share_of_the_memory(operator: str, refused: Callable[..., str]) -> None:
    said = refused(LEVT, graph("encoder", GROWING[operator]))
    limits = r"Available memory of \d+ is smaller than requested bytes of \d{13}"
    limits += "|exceeds the supported maximum of"  # newer versions of ONNX Runtime have one of their own for Tile
    assert re.search(rf"encoder\.onnx cannot be computed \(.*({limits})", said)


def test_a_tensor_that_is_larger_than_its_data_is_refused(refused: Callable[..., str]) -> None:
    def larger(model: Any) -> None:
        model.graph.initializer.add(name="huge", data_type=1, dims=[10**6, 10**6], raw_data=bytes(4))
        adding(node("Identity", "huge"))(model)

    assert "encoder.onnx cannot be read (" in refused(LEVT, graph("encoder", larger))


# ---- what no export writes -------------------------------------------------------------------------------------------
def endless(model: Any) -> None:
    """2 ** 62 rounds that change nothing."""
    going, number = (helper.make_tensor_value_info(name, kind, []) for name, kind in (("going", 9), ("round", 7)))
    same = helper.make_tensor_value_info("same", 1, None)
    after = [helper.make_tensor_value_info("on", 9, []), helper.make_tensor_value_info("left", 1, None)]
    steps = [helper.make_node("Identity", ["going"], ["on"]), helper.make_node("Identity", ["same"], ["left"])]
    body = helper.make_graph(steps, "body", [number, going, same], after)
    adding(node("Loop", "rounds", "", "start", body=body), rounds=np.array(2**62), start=np.float32(0))(model)


def with_function(model: Any) -> None:
    """Add is something else from now on."""
    parts = [helper.make_node("Mul", ["a", "b"], ["c"])]
    model.functions.append(helper.make_function("", "Add", ["a", "b"], ["c"], parts, model.opset_import))


VALUES, PLACES = helper.make_tensor("sparse", 1, [1], [1.0]), helper.make_tensor("places", 7, [1], [0])
SPARSE = helper.make_sparse_tensor(VALUES, PLACES, [10**6, 10**6])


def outside(model: Any) -> None:
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = "../../weights.bin" if entry.key == "location" else entry.value


# NaN in 16 bits, where numbers of that type may also stand
HALF = onnx.TensorProto(name="half", data_type=onnx.TensorProto.FLOAT16, dims=[1], int32_data=[0x7E00])
STRANGE: dict[str, tuple[Callable[[Any], None], str]] = {
    "loop": (endless, "the operator Loop"),
    "random": (adding(node("RandomNormal", shape=[10**6, 10**6])), "the operator RandomNormal"),
    "domain": (adding(node("Add", "one", "one", domain="org.example"), one=np.float32(1)), "the operator Add"),
    "function": (with_function, "field 25 of a model"),
    "sparse table": (lambda model: model.graph.sparse_initializer.append(SPARSE), "field 15 of a graph"),
    "sparse constant": (adding(node("Constant", sparse_value=SPARSE)), "field 22 of a attribute"),
    "64 bits": (adding(node("Cast", "wide", to=1), wide=np.ones(1)), "numbers of type 11"),
    "16 bits": (adding(node("Cast", "half", to=1), half=np.full(1, np.nan, np.float16)), "infinite weights in half"),
    "16 bits as integers": (lambda model: model.graph.initializer.append(HALF), "half has integers for its floats"),
    "outside": (outside, "weights.bin"),
    "NaN": (adding(node("Constant", value=numpy_helper.from_array(np.float32(np.nan)))), "infinite weights in "),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_no_export_writes_is_refused_before_it_is_run(
    name: str, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*unused: object, **options: object) -> None:
        raise AssertionError("it is run")

    monkeypatch.setattr("onnxruntime.InferenceSession", run)
    change, message = STRANGE[name]
    said = refused(LEVT, graph("encoder", change))
    assert "encoder.onnx is damaged, or has what no export writes (" in said and message in said


@pytest.mark.parametrize("content", [b"", b"\xff", b"\xff" * 5000, b"\x3a\x7fshort", b"\x0b", b"\x3a\x02\x0b\x0c"])
def test_what_is_no_graph_is_refused(content: bytes, refused: Callable[..., str]) -> None:
    assert "encoder.onnx " in refused(LEVT, lambda folder: (folder / "graphs/encoder.onnx").write_bytes(content))


# ---- weights ---------------------------------------------------------------------------------------------------------
def spoil(path: Path, value: float, small: bool) -> None:
    """Changes one number of a tensor, which is in the graph or in the file of weights."""
    model = onnx.load(path, load_external_data=False)
    tensors = [one for one in model.graph.initializer if one.data_type == 1 and one.name != "never"]
    tensor = next(one for one in tensors if bool(one.external_data) != small)
    number = np.float32(value).tobytes()
    if small and tensor.float_data:
        tensor.float_data[-1] = value
    elif small:
        tensor.raw_data = tensor.raw_data[:-4] + number
    else:
        place = {entry.key: int(entry.value) for entry in tensor.external_data if entry.value.isdigit()}
        with (path.parent / "weights.bin").open("r+b") as file:
            file.seek(place["offset"] + place["length"] - 4)
            file.write(number)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("system", [LEVT, WRITER, LABELLER])
@pytest.mark.parametrize("small", [True, False])
def test_weights_must_be_finite(system: str, small: bool, originals: dict[str, Path], tmp_path: Path) -> None:
    """In all graphs, also those in 8 bits, whose scales are in another field."""
    paths = sorted((originals[system] / "graphs").glob("*.onnx"))
    for path, value in zip(paths, cycle((np.nan, np.inf, -np.inf)), strict=False):
        folder = Path(shutil.copytree(originals[system], tmp_path / path.stem))
        spoil(folder / "graphs" / path.name, value, small)
        with pytest.raises(UserError, match="NaN or infinite weights in "):
            check_graph(folder / "graphs" / path.name, folder / "graphs" / "weights.bin")


def test_nan_that_is_computed_is_refused(refused: Callable[..., str]) -> None:
    root = adding(node("Sqrt", "minus"), minus=np.float32(-1))
    assert "decide.onnx computes NaN" in refused(LEVT, graph("decide", root))


# ---- graphs that do not fit their folder -----------------------------------------------------------------------------
def swapped(one: str, other: str) -> Change:
    def change(folder: Path) -> None:
        first, second = (folder / "graphs" / f"{name}.onnx" for name in (one, other))
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)

    return change


PAIRS = [
    *((LEVT, pair) for pair in (("encoder", "decide"), ("encoder", "fill"), ("decide", "fill"))),
    *((WRITER, pair) for pair in (("start", "step"), ("start", "score"), ("step", "score"))),
]


@pytest.mark.parametrize(("system", "pair"), PAIRS)
def test_graphs_in_each_others_place_are_refused(
    system: str, pair: tuple[str, str], refused: Callable[..., str]
) -> None:
    assert "cannot be " in refused(system, swapped(*pair))


def longer(name: str) -> Change:
    def change(folder: Path) -> None:
        separator = "\t" if name == "labels.txt" else " "
        with (folder / name).open("a", encoding="utf-8") as file:
            file.writelines(f"more{number}{separator}1\n" for number in range(50))

    return change


@pytest.mark.parametrize(
    ("system", "name"),
    [
        *((LEVT, "dict.src.txt"), (LEVT, "dict.tgt.txt"), (WRITER, "dict.noisy.txt"), (WRITER, "dict.clean.txt")),
        *((LABELLER, "dict.txt"), (LABELLER, "labels.txt")),
    ],
)
def test_more_words_or_labels_than_weights_are_refused(system: str, name: str, refused: Callable[..., str]) -> None:
    messages = r"cannot be computed \(.*out of data bounds|label\.onnx does not give a score to each label"
    assert re.search(messages, refused(system, longer(name)))


def test_words_that_the_dictionary_lacks_are_not_written(originals: dict[str, Path], tmp_path: Path) -> None:
    """Of a graph that writes any number, or of a model with more words than the dictionary."""

    def shorter(folder: Path) -> None:
        path = folder / "dict.clean.txt"
        path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:1]), "utf-8")

    for number in (1000, -1000):
        numbers = graph("fill", adding(node("Identity", "many"), many=np.array(number)))
        model = lev_plugins.load(changed_folder(originals[LEVT], tmp_path / f"{number}", numbers))
        (changed,) = model.edit(["w1 w2"], ["v1 v2 v3"])
        assert set(changed.text.split()) <= {"v1", "v2", "v3"}
    (changed,) = lev_plugins.load(changed_folder(originals[WRITER], tmp_path / "writer", shorter)).edit(["abc DEF"])
    assert len({*changed.text} - {*"abc DEF"}) <= 1


def test_what_fails_only_later_is_one_line_as_well(originals: dict[str, Path]) -> None:
    session = Session(originals[LEVT], "encoder", 32)
    with pytest.raises(UserError, match=r"encoder\.onnx cannot be computed \(.*out of data bounds"):
        session({"words": np.array([[[10**6]]])})
