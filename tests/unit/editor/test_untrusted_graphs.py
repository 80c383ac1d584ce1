"""Untrusted graphs read no file but their weights, and unusable graphs are refused in one line."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lev_plugins
from lev_plugins.editor.graph_file import check_graph
from lev_plugins.editor.session import Session
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, mentions
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
def folder_refusal(originals: dict[str, Path], tmp_path: Path, refusal: Refusal) -> Callable[..., str]:
    """Returns a function that changes a folder, updates its digests and returns the error of ``edit`` or ``label``."""

    def refuse(system: str, change: Change) -> str:
        folder = changed_folder(originals[system], tmp_path / "folder", change)
        message = refusal("label" if system == LABELLER else "edit", folder)
        assert message.rstrip().endswith(model_folder.AGAIN)
        return message

    return refuse


def changed_folder(original: Path, folder: Path, change: Change) -> Path:
    """Copies a folder, changes it and updates the digests of its files."""
    shutil.copytree(original, folder)
    change(folder)
    config = model_folder.read_unchecked(folder)
    config.files.update({name: model_folder.digest(folder / name) for name in config.files})
    model_folder.save(config, folder)
    return folder


def graph(name: str, change: Callable[[Any], None]) -> Change:
    """Returns a change of one graph, whose large tensors stay in their file."""

    def rewrite(folder: Path) -> None:
        path = folder / "graphs" / f"{name}.onnx"
        model = onnx.load(path, load_external_data=False)
        change(model)
        path.write_bytes(model.SerializeToString())

    return rewrite


def adding(*nodes: Any, **tables: Any) -> Callable[[Any], None]:
    """Returns a change that adds nodes, with tables as inputs, and adds the last node's result to the first output."""

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


# ---- external files and custom operators -----------------------------------------------------------------------------
SECRET = "../../secret.bin"
# what ONNX Runtime reads as an address in memory is not a file of the folder either
LOCATIONS = [SECRET, "/etc/passwd", "", "other.bin", "./weights.bin", "*/_ORT_MEM_ADDR_/*"]


def places_of_tensors(message: Any, *path: str) -> Iterator[str]:
    """Yields the names of the fields that lead from a message to each tensor, down to the branches of a graph."""
    for field in message.fields:
        kind = field.message_type
        if kind and kind.name == "TensorProto":
            yield ".".join([*path, field.name])
        elif kind and len(path) < 5:
            yield from places_of_tensors(kind, *path, field.name)


PLACES = sorted(places_of_tensors(onnx.ModelProto.DESCRIPTOR))


def test_tensors_are_searched_in_all_fields_of_onnx() -> None:
    fields = ["graph.initializer", "graph.node.attribute.t", "graph.node.attribute.g.initializer"]
    fields += ["graph.sparse_initializer.values", "graph.node.attribute.sparse_tensor.indices"]
    assert {*fields, "functions.node.attribute.t", "functions.attribute_proto.t"} <= {*PLACES}


@pytest.mark.parametrize("kind", ["FLOAT", "INT64"])
@pytest.mark.parametrize("place", PLACES)
def test_a_tensor_in_any_file_but_weights_bin_is_refused(place: str, kind: str, tmp_path: Path) -> None:
    for location in ["weights.bin", *LOCATIONS]:
        message = model = onnx.ModelProto()
        for name in place.split("."):
            field = getattr(message, name)
            message = field.add() if hasattr(field, "add") else field
        message.data_type, message.data_location = onnx.TensorProto.DataType.Value(kind), onnx.TensorProto.EXTERNAL
        for key, value in {"location": location, "offset": "0", "length": "16"}.items():
            message.external_data.add(key=key, value=value)
        path = tmp_path / "graph.onnx"
        path.write_bytes(model.SerializeToString())
        if location == "weights.bin":
            check_graph(path)
        else:
            with pytest.raises(UserError, match=r"graph\.onnx .*another file .*weights\.bin"):
                check_graph(path)


def string(number: int, content: bytes) -> bytes:
    """Encodes a field of a message in Protocol Buffers."""
    length = len(content)
    return bytes([8 * number + 2, length & 127 | 128, length >> 7 & 127 | 128, length >> 14]) + content


KEY, VALUE = b"\x0a\x08location", b"\x12\x0bweights.bin"
ENTRIES = {
    "last value": KEY + VALUE + string(2, b"secret.bin"),
    "last key": string(1, b"offset") + string(2, b"secret.bin") + KEY,
    "unknown field before": string(3, KEY + VALUE) + KEY + string(2, b"secret.bin"),
    "number after the key": KEY + string(2, b"secret.bin") + b"\x08\x05",
    "long form of a length": string(1, b"location") + string(2, b"secret.bin"),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_unusual_encoding_does_not_hide_a_location(entry: str, tmp_path: Path) -> None:
    """ONNX Runtime reads secret.bin from each entry except the second, which has no other value."""
    path = tmp_path / "graph.onnx"
    tensor = string(13, ENTRIES[entry])
    for content in (string(7, string(5, tensor)), string(7, b"") + string(7, string(5, string(8, b"x") + tensor))):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"another file .*weights\.bin"):
            check_graph(path)


def test_the_number_of_a_field_has_32_bits(tmp_path: Path) -> None:
    """ONNX Runtime reads 13 + 2 ** 29, which is no field, as 13, the place of a tensor."""
    path, key = tmp_path / "graph.onnx", bytes([13 * 8 + 2 | 128, 128, 128, 128, 16])
    entry = string(1, b"location") + string(2, SECRET.encode())
    path.write_bytes(string(7, string(5, key + string(13, entry)[1:])))
    with pytest.raises(UserError, match="32 bits"):
        check_graph(path)


def test_custom_operators_are_refused_before_the_graph_runs(
    folder_refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*unused: object, **options: object) -> None:
        raise AssertionError("the graph was run")

    monkeypatch.setattr("onnxruntime.InferenceSession", run)
    foreign = adding(node("Add", "one", "one", domain="org.example"), one=np.float32(1))
    assert mentions(folder_refusal(LEVT, graph("encoder", foreign)), "encoder.onnx org.example")


def test_changed_or_linked_weights_are_refused(originals: dict[str, Path], tmp_path: Path, refusal: Refusal) -> None:
    folder = Path(shutil.copytree(originals[LEVT], tmp_path / "folder"))
    path = folder / "graphs" / "weights.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    assert mentions(refusal("edit", folder), "weights.bin exported")
    path.rename(tmp_path / "outside.bin")
    path.symlink_to(tmp_path / "outside.bin")
    assert mentions(refusal("edit", folder), "weights.bin link")


@pytest.mark.parametrize("content", [b"", b"\xff" * 5000, b"\x3a\x7fshort", b"\x3a\x02\x0b\x0c", b"\x3a\x00" * 9])
def test_a_malformed_graph_is_refused(content: bytes, folder_refusal: Callable[..., str]) -> None:
    assert "encoder.onnx " in folder_refusal(LEVT, lambda folder: (folder / "graphs/encoder.onnx").write_bytes(content))


def test_an_external_tensor_in_a_nested_graph_is_refused(tmp_path: Path) -> None:
    path, content = tmp_path / "graph.onnx", string(5, string(13, string(1, b"location") + string(2, SECRET.encode())))
    for _ in range(1000):
        content = string(1, string(5, string(6, content)))  # a graph in an attribute of an operator of a graph
    path.write_bytes(string(7, content))
    with pytest.raises(UserError, match=r"another file .*weights\.bin"):
        check_graph(path)


# ---- graphs that do not fit their folder -----------------------------------------------------------------------------
def test_a_graph_that_computes_nan_is_refused(folder_refusal: Callable[..., str]) -> None:
    root = adding(node("Sqrt", "minus"), minus=np.float32(-1))
    assert mentions(folder_refusal(LEVT, graph("decide", root)), "decide.onnx NaN")


def with_output(name: str, operator: str, **attributes: int) -> Callable[[Any], None]:
    """Returns a change by which an operator computes an output from what it was."""

    def change(model: Any) -> None:
        (output,) = (output for output in model.graph.output if output.name == name)
        for operation in model.graph.node:
            for names in (operation.input, operation.output):
                names[:] = ["before" if part == name else part for part in names]
        more = {"Reshape": ["flat"], "Slice": ["zero", "one", "axis"]}.get(operator, [])
        tables = {"flat": -1, "zero": 0, "one": 1, "axis": attributes.pop("axis", 0)}
        model.graph.initializer.extend(numpy_helper.from_array(np.array([v]), key) for key, v in tables.items())
        model.graph.node.append(helper.make_node(operator, ["before", *more], [name], **attributes))
        output.type.tensor_type.ClearField("shape")
        output.type.tensor_type.elem_type = attributes.get("to", output.type.tensor_type.elem_type)

    return change


READ = [(LEVT, "decide", name) for name in ("deletion", "no_insertion", "insertion", "insertion_count")]
READ += [(LEVT, "fill", "words_to_insert"), (LEVT, "fill", "log_probs")]
READ += [(WRITER, "start", "scores"), (WRITER, "score", "score"), (LABELLER, "label", "scores")]


@pytest.mark.parametrize(("system", "name", "output"), READ)
def test_outputs_of_another_type_or_shape_are_refused(
    system: str, name: str, output: str, folder_refusal: Callable[..., str]
) -> None:
    change = graph(name, with_output(output, "Cast", to=onnx.TensorProto.STRING))
    assert mentions(folder_refusal(system, change), f"{name}.onnx {output}")


@pytest.mark.parametrize("output", [output for system, _, output in READ if system == LEVT])
def test_outputs_without_rows_are_refused(output: str, folder_refusal: Callable[..., str]) -> None:
    name = "fill" if (LEVT, "fill", output) in READ else "decide"
    assert mentions(folder_refusal(LEVT, graph(name, with_output(output, "Reshape"))), f"{name}.onnx {output}")


CUTS = [*((*read, 0) for read in READ), (LEVT, "decide", "deletion", 1), (LEVT, "decide", "insertion_count", 1)]


@pytest.mark.parametrize(("system", "name", "output", "axis"), CUTS)
def test_outputs_with_fewer_rows_than_inputs_are_refused(
    system: str, name: str, output: str, axis: int, originals: dict[str, Path], tmp_path: Path
) -> None:
    """The trial of a graph has one text, so that the first row is all there is."""
    change = graph(name, with_output(output, "Slice", axis=axis))
    with pytest.raises(UserError, match=rf"{name}\.onnx"):
        model = lev_plugins.load(changed_folder(originals[system], tmp_path / "folder", change))
        texts = ["w1 w2 w3", "w4 w5", "abc DEF"]
        model.label(texts) if system == LABELLER else model.edit(texts)


def test_words_that_are_no_numbers_of_words_are_refused(folder_refusal: Callable[..., str]) -> None:
    change = graph("fill", with_output("words_to_insert", "Cast", to=onnx.TensorProto.FLOAT))
    assert mentions(folder_refusal(LEVT, change), "fill.onnx words_to_insert")


@pytest.mark.parametrize("digits", [16, 5000])
@pytest.mark.parametrize("name", ["dict.src.txt", "dict.tgt.txt"])
def test_a_count_of_many_digits_is_refused(name: str, digits: int, folder_refusal: Callable[..., str]) -> None:
    def change(folder: Path) -> None:
        words = (folder / name).read_text("utf-8").splitlines()
        words[1] = f"{words[1].split()[0]} {'9' * digits}"
        (folder / name).write_text("".join(f"{word}\n" for word in words), "utf-8")

    assert mentions(folder_refusal(LEVT, change), f"{name} 2")


def swapped(graph_name: str, swapped_name: str) -> Change:
    def change(folder: Path) -> None:
        path, swapped_path = (folder / "graphs" / f"{graph_name}.onnx" for graph_name in (graph_name, swapped_name))
        content = path.read_bytes()
        path.write_bytes(swapped_path.read_bytes())
        swapped_path.write_bytes(content)

    return change


PAIRS = [
    *((LEVT, pair) for pair in (("encoder", "decide"), ("encoder", "fill"), ("decide", "fill"))),
    *((WRITER, pair) for pair in (("start", "step"), ("start", "score"), ("step", "score"))),
]


@pytest.mark.parametrize(("system", "pair"), PAIRS)
def test_swapped_graphs_are_refused(system: str, pair: tuple[str, str], folder_refusal: Callable[..., str]) -> None:
    assert "cannot be " in folder_refusal(system, swapped(*pair))


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
def test_a_dictionary_larger_than_the_weights_is_refused(
    system: str, name: str, folder_refusal: Callable[..., str]
) -> None:
    messages = r"cannot be computed \(.*out of data bounds|label\.onnx does not give a score to each label"
    assert re.search(messages, folder_refusal(system, longer(name)))


def test_ids_outside_the_dictionary_write_no_words(originals: dict[str, Path], tmp_path: Path) -> None:
    """A graph may write any number, and a model may have more words than the dictionary."""

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


def test_a_number_of_threads_that_is_none_is_refused(
    originals: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("", "0", "4,2", " 2"):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        Session(originals[LEVT], "encoder", 32)
    for value in ("abc", "1.5", "9" * 5000):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        with pytest.raises(UserError, match=f"OMP_NUM_THREADS .*{value[:60]}"):
            Session(originals[LEVT], "encoder", 32)


def test_an_error_while_computing_names_the_graph(originals: dict[str, Path]) -> None:
    session = Session(originals[LEVT], "encoder", 32)
    with pytest.raises(UserError, match=r"encoder\.onnx cannot be computed \(.*out of data bounds"):
        session({"words": np.array([[[10**6]]])})
