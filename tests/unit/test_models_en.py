"""models/en, the editor of English in the repository: small, found by its name, and careful."""

from pathlib import Path

import pytest

import lev_plugins
from lev_plugins.cli import adapt
from lev_plugins.editor.editor import Editor
from lev_plugins.utils import model_folder
from lev_plugins.utils.model_folder import model_path
from tests.commands import ROOT
from tests.unit.editor.test_without_torch import HEAVY, run

EN = ROOT / "models" / "en"
RIGHT = [
    "She put the hat on the toy and dug in the sand with a t-shirt around her waist.",
    "The band sang in the van, a hose in one hand and a kite in the other.",
    "See the second chapter, pp. 12 and 13, of Meyer et al., cf. the notes.",
    "Il pleut depuis ce matin et personne ne veut sortir.",
    "Mail ann.lee@exmaple.org the file at https://exmaple.org/teh/file.txt, please.",
]
WRONG = {
    "Retrun the vlaues of the functoin.": "Return the values of the function.",
    "I recieved your mesage yesterday, thanks!": "I received your message yesterday, thanks!",
    "We shoud talk about teh budget next week.": "We should talk about the budget next week.",
    "The garden was beatiful untill the storm.": "The garden was beautiful until the storm.",
}


@pytest.fixture(scope="module")
def editor() -> Editor:
    editor = lev_plugins.load("en")
    assert isinstance(editor, Editor)
    return editor


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in EN.rglob("*") if path.is_file()) <= 20_000_000


def test_beside_it_is_what_can_be_trained_further(tmp_path: Path) -> None:
    folder = model_path("en-trainable")
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 32_000_000
    config = adapt.read_config(folder)
    assert config.promise is not None and config.noise and {"sample.txt", "promised.txt"} <= config.files.keys()
    editor = Editor.load(adapt.with_graphs(folder, tmp_path / "en"))
    assert [edited.text for edited in editor.edit(list(WRONG))] == list(WRONG.values())


def test_it_is_found_by_its_name_unless_a_file_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_path("en").resolve() == EN
    (tmp_path / "en").mkdir()
    assert model_path("en") == Path("en")


def test_its_card_says_its_licence_and_its_promise() -> None:
    config, card = model_folder.read(EN), (EN / model_folder.CARD).read_text(encoding="utf-8")
    assert "\nlicense: " in card and config.promise is not None
    assert "at most, with 95% confidence" in card


def test_it_leaves_right_words_alone(editor: Editor) -> None:
    assert [edited.text for edited in editor.edit(RIGHT)] == RIGHT


def test_it_repairs_typos(editor: Editor) -> None:
    assert {edited.original: edited.text for edited in editor.edit(list(WRONG))} == WRONG


def test_the_command_needs_neither_torch_nor_much_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules, seconds = run("edit", "en", stdin="Retrun it.\n")
    assert not HEAVY & modules and seconds < 1.5
