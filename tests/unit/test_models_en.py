"""models/en, the editor of English in the repository: its size, its name and its edits."""

import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

import lev_plugins
from lev_plugins.cli import adapt
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.levt_segments import LevTSegments
from lev_plugins.editor.options import EditOptions
from lev_plugins.utils import model_folder
from lev_plugins.utils.model_folder import model_path
from tests.commands import ROOT
from tests.unit.editor.test_without_torch import HEAVY, loaded_modules

EN = ROOT / "models" / "en"
CORRECT_TEXTS = [
    "She put the hat on the toy and dug in the sand with a t-shirt around her waist.",
    "The band sang in the van, a rope in one hand and a kite in the other.",
    "See the second chapter, pp. 12 and 13, of Meyer et al., cf. the notes.",
    "Il pleut depuis ce matin et personne ne veut sortir.",
    "Mail ann.lee@exmaple.org the file at https://exmaple.org/teh/file.txt, please.",
]
CORRECTIONS = {
    "Retrun the vlaues of the functoin.": "Return the values of the function.",
    "I recieved your mesage yesterday, thanks!": "I received your message yesterday, thanks!",
    "We shoud talk about teh budget next week.": "We should talk about the budget next week.",
    "The garden was beatiful untill the storm.": "The garden was beautiful until the storm.",
}


@pytest.fixture(scope="module")
def english_editor() -> Editor:
    english_editor = lev_plugins.load("en")
    assert isinstance(english_editor, Editor)
    return english_editor


def test_models_en_has_at_most_20_megabytes() -> None:
    assert sum(path.stat().st_size for path in EN.rglob("*") if path.is_file()) <= 20_000_000


def test_models_en_trainable_is_complete_and_makes_the_same_edits(tmp_path: Path) -> None:
    folder = model_path("en-trainable")
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 32_000_000
    config = adapt.read_config(folder)
    assert "read" in config.promises and config.noise and {"sample.txt", "promised.txt"} <= config.files.keys()
    editor = Editor.load(adapt.with_graphs(folder, tmp_path / "en"))
    assert [edited.text for edited in editor.edit(list(CORRECTIONS))] == list(CORRECTIONS.values())


def test_the_name_en_finds_the_model_unless_a_file_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_path("en").resolve() == EN
    (tmp_path / "en").mkdir()
    assert model_path("en") == Path("en")


def test_the_name_of_an_installed_model_finds_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lev_plugins_toy").mkdir()
    (tmp_path / "lev_plugins_toy" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert model_path("toy") == tmp_path / "lev_plugins_toy"


def test_the_card_of_models_en_has_a_licence_and_a_promise() -> None:
    config, card = model_folder.read(EN), (EN / model_folder.CARD).read_text(encoding="utf-8")
    assert "\nlicense: " in card and config.dials["read"] < config.dials["write"]
    for name, max_broken in config.promises.items():
        setting = f"(by check )?with --min-confidence {name}"
        row = rf"^\| .*words broken, of 1,000, {setting}, .*, at most, .* \| {max_broken:g} \|$"
        assert re.search(row, card, re.M)


FOREIGN_TEXTS = [
    "Das ist ein schönes Haus, und ich habe ihn dort gestern zum ersten Mal gesehen.",
    "Un certificat contient le nom de la personne, mais il peut aussi être illisible.",
    "Jokin aika sitten hän oli liian väsynyt, ja kuka tahansa olisi nukahtanut.",
    "Учора вона прочитала книжку про море та корабель.",
]


def test_models_en_leaves_text_in_other_languages_alone() -> None:
    editor = Editor.load(EN, EditOptions(min_confidence=0.0))
    quotation = f"{FOREIGN_TEXTS[0]} He siad that yestreday."
    texts = [*FOREIGN_TEXTS, quotation]
    expected = [*FOREIGN_TEXTS, f"{FOREIGN_TEXTS[0]} He said that yesterday."]
    assert [edited.text for edited in editor.edit(texts)] == expected
    assert isinstance(editor.model, LevTSegments)
    editor.model.language = None
    edited = [result.text for result in editor.edit(texts)]
    assert all(text != other for text, other in zip(edited[:2], FOREIGN_TEXTS, strict=False))


def test_models_en_leaves_correct_texts_unchanged(english_editor: Editor) -> None:
    assert [edited.text for edited in english_editor.edit(CORRECT_TEXTS)] == CORRECT_TEXTS


def test_models_en_corrects_typos(english_editor: Editor) -> None:
    assert {edited.original: edited.text for edited in english_editor.edit(list(CORRECTIONS))} == CORRECTIONS


def test_an_edit_loads_no_heavy_module() -> None:
    assert not (HEAVY | {"sacrebleu"}) & loaded_modules("edit", "en", stdin="Retrun it.\n")


def test_loading_an_editor_imports_nothing_of_labels() -> None:
    code = "import sys, lev_plugins; lev_plugins.load('en'); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert "lev_plugins.editor.editor" in modules
    assert not [name for name in modules if name.startswith("lev_plugins.label") or name.endswith(".labeller")]


def interpreter_seconds(code: str) -> float:
    """Returns the processor time of a fresh interpreter that runs the code."""
    command = [sys.executable, "-c", f"import time; {code}; print(time.process_time())"]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.slow
def test_a_first_edit_takes_at_most_10_times_as_long_as_its_imports() -> None:
    imports, edit = "import numpy, onnxruntime", "import lev_plugins; lev_plugins.load('en').edit(['Retrun it.'])"
    runs = [(interpreter_seconds(imports), interpreter_seconds(edit)) for _ in range(3)]
    import_seconds, edit_seconds = (median(seconds) for seconds in zip(*runs, strict=True))
    assert edit_seconds <= 10 * import_seconds  # 6.5 when written; the import of torch alone takes more than 10
