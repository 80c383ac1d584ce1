"""A model folder is self-contained and has the outputs of its checkpoint; unusable exports are refused."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.editor.options import EditOptions
from lev_plugins.export import card, load_model
from lev_plugins.export.exporting import UNLISTED, without_paths
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.training import checkpoints
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests import labelling as toy_labels
from tests import teachers
from tests.helpers import Refusal, file_contents, mentions
from tests.pretrained import sentencepieces
from tests.systems import GOLDEN, SYSTEMS, System
from tests.torch_models import labeller_of
from tests.unit.editor.test_without_torch import HEAVY, loaded_modules


@pytest.fixture(scope="module", params=SYSTEMS)
def moved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[System, Any, Path]:
    """Returns a system, the answers of its checkpoint, and its folder; all other files are removed."""
    place = tmp_path_factory.mktemp(request.param) / "original"
    place.mkdir()
    system = SYSTEMS[request.param](place)
    expected = system.answers(system.load())
    system.export(place / "out" / "mine", "--trainable")  # in 32 bits
    folder = place.parent / "elsewhere" / "mine"
    shutil.move(place / "out", folder.parent)
    shutil.rmtree(place)
    return system, expected, folder


def test_a_folder_answers_as_its_checkpoint(moved: tuple[System, Any, Path]) -> None:
    """Numbers are not compared here, but in tests/unit/editor/test_onnx_models.py."""
    system, expected, folder = moved
    answers = system.answers(lev_plugins.load(folder))
    if system.edits:
        assert [edited.text for edited in answers] == [edited.text for edited in expected]
    else:
        assert [answer.get("label") for answer in answers] == [answer.get("label") for answer in expected]
    if system.bpe or system.drafts:
        assert any(edited.edits for edited in expected)


def test_a_folder_is_complete_and_has_no_pickle_and_no_path(moved: tuple[System, Any, Path]) -> None:
    folder = moved[-1]
    files = [path for path in folder.rglob("*") if path.is_file()]
    suffixes = {".json", ".txt", ".model", ".safetensors", ".md", ".onnx", ".bin", ".npz", ".gz"}
    assert {path.suffix for path in files} <= suffixes
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in files)
    outside = re.compile(rb"/tmp/|original|backbone-of-training")
    assert [path.name for path in files if outside.search(path.read_bytes())] == []
    config = model_folder.read(folder)
    assert {path.relative_to(folder).as_posix() for path in files} - {*UNLISTED} == {*config.files}


def test_the_python_code_of_the_card_runs(
    moved: tuple[System, Any, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = moved[-1]
    card = (folder / "README.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", card, re.M | re.S)
    assert len([line for line in code.splitlines() if line]) == 3
    monkeypatch.chdir(folder.parent)
    exec(code)
    assert capsys.readouterr().out


# ---- the card and what info says -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of the golden corrector, exported with all flags that describe it."""
    out = tmp_path_factory.mktemp("pbd") / "corrector"
    score = out.parent / "score.json"
    score.write_text(json.dumps({"name": "GLEU", "system": {"score": 38.25}}))
    flags = ["--data", GOLDEN / "noisy" / "data", "--bpe", "chars", "--beam", 3, "--keep-bias", 0.25]
    flags += ["--min-confidence", 0.3, "--language", "pt-BR", "--license", "mit", "--scores", "WRR=70.5", score]
    assert export(GOLDEN / "pbd" / "checkpoint.pt", out, *flags) == 0
    return out


@pytest.fixture(scope="module")
def labeller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("labels") / "out"
    assert export(Path(LABELS[0]), out, *LABELS[1:]) == 0
    return out


def export(checkpoint: Path, out: Path, *flags: object) -> int:
    return main([str(word) for word in ("export", checkpoint, out, "--no-graphs", *flags)])


def test_info_prints_a_table_or_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["architecture"], facts["updates"]) == ("editor", "pbd", 150)
    assert facts["parameters"] == sum(weight.numel() for weight in load_file(folder / "model.safetensors").values())
    assert facts["decoding"] == {"beam": 3, "keep_bias": 0.25, "min_confidence": 0.3, "language": "pt-BR"}
    assert facts["scores"] == {"WRR": 70.5, "GLEU": 38.25}
    assert facts["dictionaries"] == {"dict.clean.txt": 20, "dict.noisy.txt": 20}
    assert main(["info", str(folder)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["kind", "editor"]
    assert any(line.split() == ["scores", "WRR:", "70.5"] for line in table)
    assert not any("labelling" in line for line in table)
    assert not HEAVY & loaded_modules("info", str(folder))


def test_half_stores_the_same_weights_in_16_bits(folder: Path, tmp_path: Path) -> None:
    data = ["--data", GOLDEN / "noisy" / "data", "--bpe", "chars"]
    assert export(GOLDEN / "pbd" / "checkpoint.pt", tmp_path / "half", *data, "--half") == 0
    exact, half = (load_file(place / "model.safetensors") for place in (folder, tmp_path / "half"))
    assert exact.keys() == half.keys() and any(weight.dtype == torch.float16 for weight in half.values())
    for name, weight in exact.items():
        assert torch.equal(half[name], weight.half() if weight.is_floating_point() else weight), name
    (model,) = load_model.read_model(tmp_path / "half", {}).models
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_the_card_has_the_front_matter_of_the_hub(folder: Path) -> None:
    _, front, text = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(front) == {
        "language": ["pt-BR"],
        "license": "mit",
        "library_name": "fairseq",
        "pipeline_tag": "text-generation",
        "tags": ["lev-plugins", "text-correction", "pbd"],
    }
    assert "| WRR | 70.5 |" in text and "| updates | 150 |" in text and "| `--criterion` |" in text


def test_a_card_leaves_out_what_the_checkpoint_lacks(folder: Path) -> None:
    config = replace(model_folder.read(folder), scores={}, updates=None)
    text = card.card("it's", config, 12, card.training_settings({"model": {}}), None)
    assert "## Training" not in text and "## Scores" not in text and "license" not in text and "updates" not in text
    assert """lev-plugins edit 'it'"'"'s' < in.txt""" in text


def test_options_override_the_defaults_of_a_folder(folder: Path, tmp_path: Path) -> None:
    assert main(["export", str(folder), str(tmp_path / "out")]) == 0
    editor = lev_plugins.load(tmp_path / "out")
    overridden = lev_plugins.load(tmp_path / "out", options=EditOptions(min_confidence=0.0, keep_bias=20))
    assert (editor.min_confidence, editor.language, editor.model.search.keep_bias) == (0.3, "pt-BR", 0.25)
    assert editor.model.search.beam == 3
    assert (overridden.min_confidence, overridden.model.search.keep_bias) == (0.0, 20)
    assert overridden.edit(["aBc"])[0].edits == ()


def test_exporting_a_folder_again_keeps_its_settings(folder: Path, tmp_path: Path) -> None:
    labeller = tmp_path / "labeller"
    assert export(Path(LABELS[0]), labeller, *LABELS[1:]) == 0
    for number, path in enumerate((folder, labeller)):
        out = tmp_path / f"{number}"
        assert main(["export", str(path), str(out)]) == 0
        original, exported = model_folder.read(path), model_folder.read(out)
        graphs = {name for name in exported.files if name.startswith("graphs/")}
        assert graphs and {name: exported.files[name] for name in exported.files.keys() - graphs} == original.files
        assert replace(exported, files={}) == replace(original, files={})
    assert card.license_of(tmp_path / "0") == "mit"


def test_min_confidence_of_the_training_is_the_default_of_the_folder(tmp_path: Path) -> None:
    system = SYSTEMS["pbd"](tmp_path)
    state = checkpoints.load(system.checkpoint)
    state["cfg"]["task"]["min_edit_confidence"] = 0.75
    checkpoints.save(state, system.checkpoint)
    for flags, expected in (([], 0.75), (["--min-confidence", 0.5], 0.5)):
        out = system.export(tmp_path / f"{expected}", "--no-graphs", *flags)
        assert model_folder.read(out).decoding.min_confidence == expected


def test_an_exported_sentencepiece_model_gives_the_same_pieces(tmp_path: Path) -> None:
    pieces = tmp_path / "pieces"
    sentencepieces(pieces, ["abc de f", "a bc def", "fade"] * 9, 14, hard_vocab_limit=False)
    flags = ["--data", PBD[2], "--sentencepiece-model", f"{pieces}.model"]
    assert export(Path(PBD[0]), tmp_path / "out", *flags) == 0
    path = tmp_path / "out" / "sentencepiece.bpe.model"
    models = [sentencepiece.SentencePieceProcessor(model_file=str(file)) for file in (f"{pieces}.model", path)]
    texts = ["abc", "de fa  bc", "x ﬁ", ""]
    assert models[0].encode(texts) == models[1].encode(texts) and models[0].encode(texts)[0]
    assert str(tmp_path).encode() not in path.read_bytes()
    pieces_of_text = models[0].encode("abc de", out_type=str)
    bpe = model_folder.read(tmp_path / "out").bpe(tmp_path / "out")
    assert Tokeniser(bpe).encode("abc de") == " ".join(pieces_of_text)


def test_a_damaged_sentencepiece_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(b"\x12\xff")
    with pytest.raises(UserError, match=r"sentencepiece model .*x\.model "):
        without_paths(path)


# ---- writing ---------------------------------------------------------------------------------------------------------


PBD = [str(GOLDEN / "pbd" / "checkpoint.pt"), "--data", str(GOLDEN / "noisy" / "data"), "--bpe", "chars"]
LABELS = [str(GOLDEN / "labels" / "checkpoint.pt"), "--data", str(GOLDEN / "labels" / "data")]
EDITOR = [str(GOLDEN / "levt" / "checkpoint.pt"), "--data", str(GOLDEN / "levt" / "data")]
POST_EDIT = [str(GOLDEN / "post_edit" / "checkpoint.pt"), "--data", str(GOLDEN / "levt" / "data")]


def test_a_model_of_another_task_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    data = GOLDEN / "noisy" / "data"
    path = teachers.write_teacher(tmp_path / "other.pt", data, *teachers.TRANSFORMER, "-s", "noisy", "-t", "clean")
    message = refusal("export", path, tmp_path / "out", "--data", data)
    assert mentions(message, f"{path} --task translation --arch transformer fairseq-generate")
    assert mentions(refusal("export", tmp_path, tmp_path / "out"), f"{tmp_path} model folder")


@pytest.mark.parametrize(
    ("arguments", "flags", "message"),
    [
        (["none.pt"], [], "none.pt"),
        (PBD, ["--license", "My licence"], "--license"),
        (PBD, ["--language", "x y"], "--language 'x y'"),
        (PBD, ["--scores", "nothing"], "--scores nothing NAME=VALUE"),
        (PBD, ["--scores", "{json}"], "--scores --json"),
        (PBD, ["--scores", "a=b"], "--scores a=b"),
        (PBD, ["--scores", "a=nan"], "--scores a=nan finite"),
        (PBD, ["--iter-decode-max-iter", "3"], "--iter-decode-max-iter text_correction"),
        (PBD, ["--thresholds", "{json}"], "--thresholds labeller"),
        (PBD, ["--beam", "0"], "--beam 1000 0"),
        (EDITOR, ["--beam", "3"], "--beam text_editing"),
        (LABELS, ["--min-confidence", "0.5"], "--min-confidence text_labelling"),
        (LABELS, ["--bpe", "chars"], "--bpe editor"),
        (LABELS, ["--thresholds", "{json}"], "thresholds multilabel classification"),
        (POST_EDIT, [], "--arch post_edit_transformer fairseq-generate"),
    ],
)
def test_unusable_flags_of_export_are_refused(
    arguments: list[str], flags: list[str], message: str, tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / "thresholds.json").write_text('{"no": 0.5}')
    flags = [flag.replace("{json}", str(tmp_path / "thresholds.json")) for flag in flags]
    assert mentions(refusal("export", arguments[0], tmp_path / "out", *arguments[1:], *flags), message)
    assert [path.name for path in tmp_path.iterdir()] == ["thresholds.json"]


def test_only_a_model_folder_is_replaced(tmp_path: Path, refusal: Refusal) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert mentions(refusal("export", PBD[0], out, *PBD[1:]), f"{out} empty mine.txt")
    message = refusal("export", PBD[0], out, *PBD[1:], "--overwrite")
    assert mentions(message, f"--overwrite {out} config.json")
    (out / "config.json").write_text('{"model_type": "t5"}')  # of a pre-trained model
    (out / "model.safetensors").write_text("")
    message = refusal("export", PBD[0], out, *PBD[1:], "--overwrite")
    assert mentions(message, f"--overwrite {out} lev-plugins")
    assert (out / "mine.txt").read_text() == "mine"
    shutil.rmtree(out)
    assert main(["export", PBD[0], str(out), *PBD[1:], "--scores", "WRR=70.5"]) == 0 and (out / "graphs").is_dir()
    assert mentions(refusal("export", PBD[0], out, *PBD[1:]), "--overwrite")
    assert export(Path(PBD[0]), out, *PBD[1:], "--overwrite") == 0 and not (out / "graphs").exists()
    assert model_folder.read(out).scores == {} and [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["my-notes.txt", ".git/HEAD", "graphs/notes.txt", "empty"])
def test_overwrite_keeps_a_folder_with_other_files(name: str, folder: Path, tmp_path: Path, refusal: Refusal) -> None:
    out = Path(shutil.copytree(folder, tmp_path / "out"))
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).mkdir() if name == "empty" else (out / name).write_text("mine")
    original = file_contents(out)
    message = refusal("export", PBD[0], out, *PBD[1:], "--overwrite")
    assert re.search(rf"{out}/{name.split('/')[0]}\S* was not written", message)
    assert file_contents(out) == original and (out / name).exists()


def test_a_link_to_a_model_folder_is_not_followed(folder: Path, tmp_path: Path, refusal: Refusal) -> None:
    real, link = Path(shutil.copytree(folder, tmp_path / "real")), tmp_path / "link"
    link.symlink_to("real")
    original = file_contents(real)
    message = refusal("export", PBD[0], link, *PBD[1:], "--overwrite")
    assert mentions(message, f"{link} link")
    assert file_contents(real) == original and link.is_symlink()


def test_an_interrupted_export_leaves_the_previous_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Path(shutil.copytree(folder, tmp_path / "out"))

    def stop(*unused: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lev_plugins.export.exporting.save_file", stop)
    assert export(Path(PBD[0]), out, *PBD[1:], "--overwrite") == 130
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and model_folder.read(out).scores["WRR"] == 70.5


def test_a_labeller_of_a_preset_is_exported(tmp_path: Path) -> None:
    data = toy_labels.folder_of(tmp_path / "labels", "classification", "--bpe", "characters")
    flags = ["--task", "text_labelling", "--criterion", "labelling", "--arch", "enct5_tiny"]
    checkpoint = teachers.write_teacher(tmp_path / "labels" / "checkpoint.pt", data, *flags)
    assert main(["export", str(checkpoint), str(tmp_path / "mine"), "--data", str(data)]) == 0
    (exported,), (trained,) = (
        model.label(["ab c"]) for model in (lev_plugins.load(tmp_path / "mine"), labeller_of(checkpoint, data))
    )
    assert exported["label"] == trained["label"] and exported["score"] == pytest.approx(trained["score"], abs=1e-3)


@pytest.mark.parametrize(
    ("text", "license"),
    [
        (b"---\nlanguage:\n- en\nlicense: cc-by-4.0\ntags:\n---\n\n# en\n", "cc-by-4.0"),
        (b"---\r\nlicense: mit\r\n---\r\n", "mit"),
        (b"---\ntags:\n---\nlicense: mit\n", None),
        (b"license: mit\n", None),
        (b"---\nlicense: mit or else\n---\n", None),
        (b"---\nauthor: \xff\nlicense: mit\n---\n", "mit"),
        (None, None),
    ],
)
def test_the_licence_is_read_from_an_edited_card(text: bytes | None, license: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "README.md").write_bytes(text)
    assert card.license_of(tmp_path) == license
