"""``lev-plugins check``: what it reports, what it writes, and what it leaves alone."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from lev_plugins.checking import cache
from lev_plugins.checking.checker import ending
from lev_plugins.checking.files import MAX_BYTES
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.known_words import KnownWords
from lev_plugins.editor.options import EditOptions
from lev_plugins.text.edited import Edit
from lev_plugins.text.segments import Segment
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils.model_folder import model_path
from tests.helpers import Run, mentions
from tests.unit.checking.conftest import Git, git  # noqa: F401

TYPOS = {"teh": "the", "recieve": "receive"}
KNOWN = re.findall(
    r"\w+", "a an and are cat dog for hat here in is it of on one sat saw the this was we with word words"
)
TEXT, CORRECT = "We saw teh cat on the hat.\n", "We saw the cat on the hat.\n"
SECOND, SECOND_CORRECT = "We recieve the cat on the hat.\n", "We receive the cat on the hat.\n"
NOT_UTF_8 = "\udce9"
CHECK = [sys.executable, "-m", "lev_plugins", "check"]
as_root = hasattr(os, "geteuid") and os.geteuid() == 0
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions, links and signals")


class Speller:
    """A decoder that corrects a few typos, and counts the segments that it reads."""

    task, drafts, longest, lexicon = "text_editing", False, 99, None
    symbols = frozenset(f"▁{word}" for word in KNOWN)

    def __init__(self) -> None:
        self.segments = 0

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.segments += len(segments)
        words = [re.finditer("|".join(TYPOS), segment.text) for segment in segments]
        return [[Edit(*word.span(), TYPOS[word[0]], 0.975) for word in row] for row in words]


@pytest.fixture
def speller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Speller:
    """Puts the decoder in the place of the model, and the cache and the working folder into a new folder."""
    speller = Speller()

    def load(path: Path, options: EditOptions) -> Editor:
        editor = Editor(speller, Tokeniser(Namespace(bpe="words")), options, dials={"write": 0.9, "read": 0.5})
        editor.language = "en"
        return editor

    monkeypatch.setattr(Editor, "load", load)
    known = KnownWords.load(model_path("en"))
    known.lexicon = None  # which lists the typos of these tests
    monkeypatch.setattr(KnownWords, "load", lambda folder: known)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return speller


def put(name: str, content: str | bytes = TEXT) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def check(speller: Speller, run: Run) -> Run:
    """Returns a function that runs the command in this process."""
    return lambda *words, **options: run("check", *words, **options)


# ---- reports and exit statuses ---------------------------------------------------------------------------------------


def test_exit_statuses(check: Run) -> None:
    put("a.md"), put("clean.md", CORRECT)
    assert check() == (1, b'a.md:1:8: "teh" -> "the" (0.97)\n', "")
    assert check("clean.md") == (0, b"", "")
    assert check("--exit-zero")[0] == 0
    status, out, err = check("missing.md", "a.md", "--exit-zero")
    assert status == 2 and out.startswith(b"a.md:1:8") and mentions(err, "missing.md")


@pytest.mark.parametrize("words", [["--jobs", 0], ["--min-confidence", 2], ["--words", "no.txt"], ["-", "a.md"]])
def test_arguments_that_cannot_be(words: list[object], check: Run) -> None:
    status, out, err = check(*words)
    assert status == 2 and not out and err.startswith("lev-plugins: error: ") and err.count("\n") == 1


def test_nothing_to_check(check: Run) -> None:
    assert check() == (0, b"", "")


def test_formats(check: Run) -> None:
    put("a.md")
    assert json.loads(check("--format", "json")[1])["replacement"] == "the"
    assert check("--format", "github")[1].startswith(b"::warning file=a.md,line=1,col=8,endColumn=11")
    (result,) = json.loads(check("--format", "sarif")[1])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 8
    put("a.md", CORRECT)
    assert json.loads(check("--format", "sarif")[1])["runs"][0]["results"] == []


def test_reports_are_utf_8_in_any_locale(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    put("é.md", "The garden of é was beatiful until the storm.\n")
    result = subprocess.run([*CHECK, "--diff"], capture_output=True, check=False)
    assert result.returncode == 1 and "+The garden of é was beautiful".encode() in result.stdout


# ---- --write and --diff ----------------------------------------------------------------------------------------------

SHAPES = {
    "line ends of Windows": b"We saw teh cat.\r\n\r\nWe recieve a dog.\r\n",
    "byte order mark": b"\xef\xbb\xbfWe saw teh cat.\n",
    "no last line feed": b"We saw the cat.\n\nWe recieve a dog.",
    "mixed line ends": b"We saw teh cat.\r\n\nWe recieve a dog.\n\r\n",
}


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES)
def test_write_and_diff_change_only_the_typos(content: bytes, check: Run, git: Git) -> None:  # noqa: F811
    put("a b.md", content)
    git("add", ".")
    status, diff, _ = check("--diff")
    assert status == 1 and Path("a b.md").read_bytes() == content
    assert check("--write")[0] == 1
    assert Path("a b.md").read_bytes() == content.replace(b"teh", b"the").replace(b"recieve", b"receive")
    put("a b.md", content)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=diff, check=True)
    assert Path("a b.md").read_bytes() == content.replace(b"teh", b"the").replace(b"recieve", b"receive")
    assert check("--write")[:2] == (0, b"")


@posix
def test_write_keeps_permissions_owner_and_links(check: Run, tmp_path: Path) -> None:
    path = put("../outside/a.md")
    path.chmod(0o754)
    if as_root:
        os.chown(path, 65534, 65534)
    before = path.stat()
    os.symlink(path, "link.md")
    assert check("--write", "link.md", path)[0] == 1  # one file, though it is named twice
    after = path.stat()
    assert path.read_text() == CORRECT and Path("link.md").is_symlink()
    assert (before.st_mode, before.st_uid, before.st_gid) == (after.st_mode, after.st_uid, after.st_gid)


@posix
def test_a_file_that_may_not_be_written_stays(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.md").chmod(0o444), put("b.md", SECOND)
    if as_root:
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path).stat().st_mode & 0o222)
    status, _, err = check("--write")
    assert status == 2 and mentions(err, "a.md read-only")
    assert (Path("a.md").read_text(), Path("b.md").read_text()) == (TEXT, SECOND_CORRECT)


def test_a_file_that_changes_while_it_is_checked_stays(
    check: Run, speller: Speller, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.md"), put("b.md", SECOND)

    def decode(segments: list[Segment]) -> list[list[Edit]]:
        put("a.md", "Other words with teh cat.\n")
        return Speller.decode(speller, segments)

    monkeypatch.setattr(speller, "decode", decode, raising=False)
    status, _, err = check("--write")
    assert status == 2 and mentions(err, "a.md changed")
    assert Path("a.md").read_text() == "Other words with teh cat.\n" and Path("b.md").read_text() == SECOND_CORRECT


def test_a_file_that_vanishes(check: Run, speller: Speller, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.md"), put("b.md", SECOND)

    def decode(segments: list[Segment]) -> list[list[Edit]]:
        Path("a.md").unlink(missing_ok=True)
        return Speller.decode(speller, segments)

    monkeypatch.setattr(speller, "decode", decode, raising=False)
    status, _, err = check("--write")
    assert (
        status == 2
        and mentions(err, "a.md")
        and Path("b.md").read_text() == SECOND_CORRECT
        and not Path("a.md").exists()
    )


def test_a_full_disk_leaves_files_whole(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.md"), put("b.md", SECOND)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, _, err = check("--write")
    assert status == 2 and err.count("disk") == 2 and "Traceback" not in err
    assert "a.md cannot be written: " in err and "b.md cannot be written: " in err
    assert (Path("a.md").read_text(), Path("b.md").read_text()) == (TEXT, SECOND) and len(os.listdir()) == 2


def test_standard_input(check: Run) -> None:
    def out(*words: str) -> bytes:
        return check("-", *words, stdin=TEXT.encode())[1]

    assert out() == b'standard input:1:8: "teh" -> "the" (0.97)\n'
    assert out("--stdin-filename", "x/a.md").startswith(b"x/a.md:1:8")
    assert out("--write", "--stdin-filename", "a.md") == CORRECT.encode()
    code = b'teh = "recieve"  # We saw teh cat on the hat.\n'
    assert check("--stdin-filename", "a.py", "--write", stdin=code)[1] == code  # a word of the code
    status, out_of_unknown, err = check("--stdin-filename", "a.xyz", "--write", stdin=TEXT.encode())
    assert (status, out_of_unknown) == (0, TEXT.encode()) and mentions(err, "--stdin-filename a.xyz")
    for name in ("node_modules/a.md", "other.md"):
        words = ["--stdin-filename", name, "--exclude", "o*", "--write"]
        status, same, err = check(*words, stdin=TEXT.encode())
        assert (status, same) == (0, TEXT.encode()) and mentions(err, f"--stdin-filename {name} excluded")
    assert check("-", "--write", stdin=b"teh\0\xff")[:2] == (0, b"teh\0\xff")
    assert mentions(check("-", stdin=b"a " * 2_500_001)[2], "5,000,000")
    status, _, err = check("-", stdin=b"a\xe9")
    assert status == 2 and mentions(err, "UTF-8 0xe9")
    assert mentions(check("-", "--learn-words", stdin=b"a")[2], "--learn-words")


# ---- which files and lines -------------------------------------------------------------------------------------------


def test_only_changed_lines_are_reported(check: Run, git: Git) -> None:  # noqa: F811
    put("a.md", f"{TEXT}\n{CORRECT}"), put("b.md", "The zorbl is here. One zorbl.\n")
    git("add", ".")
    git("commit", "-qm", "first")
    put("a.md", f"{TEXT}\nWe recieve the zorbl.\n")
    assert check("--staged")[:2] == (0, b"")
    git("add", ".")
    for flags in (["--staged"], ["--since", "HEAD"]):
        assert check(*flags)[:2] == (1, b'a.md:3:4: "recieve" -> "receive" (0.97)\n')
    assert check("--staged", "--write")[0] == 1
    assert Path("a.md").read_text() == f"{TEXT}\nWe receive the zorbl.\n"


def test_excluded_files(check: Run) -> None:
    put("a.md"), put("docs/b.md"), put(".lev-plugins.toml", 'exclude = ["docs/"]\n')
    assert check()[1].count(b"\n") == 1
    assert check("--exclude", "*.md") == (0, b"", "")


def test_what_is_left_alone(check: Run) -> None:
    put("generated.md", f"<!-- @generated -->\n\n{TEXT}")
    put("foreign.md", "Il pleut depuis ce matin et personne ne veut sortir de teh maison.\n" * 5)
    put("ignored.md", f"{TEXT.strip()} <!-- lev-plugins: ignore -->\n")
    put("vendor/a.md")
    assert check() == (0, b"", "")


def test_named_files_that_have_no_text_are_no_error(check: Run) -> None:
    put("a.xyz"), put("b.md", b"a\0b"), put("c.md", CORRECT)
    status, out, err = check("a.xyz", "b.md", "c.md")
    assert (status, out) == (0, b"") and mentions(err, "a.xyz b.md") and err.count("\n") == 2


# ---- words and settings ----------------------------------------------------------------------------------------------


def test_words_of_the_user(check: Run) -> None:
    put("a.md"), put("mine", "teh\n")
    assert check("--words", "mine")[0] == 0
    put(".lev-words.txt", "Teh\n")
    assert check()[0] == 0
    os.remove(".lev-words.txt")
    assert check()[0] == 1
    put("pyproject.toml", '[tool.lev-plugins]\nwords = ["teh"]\n')
    assert check()[0] == 0


def test_words_of_other_languages_are_not_learned(check: Run) -> None:
    put("a.md", "The zorbl is here. One zorbl.\n")
    put("b.md", "Il pleut depuis ce matin et personne ne veut sortir de la maison.\n" * 5)
    assert check("--learn-words")[0] == 0 and Path(".lev-words.txt").read_text() == "zorbl\n"


def test_words_of_the_project_are_learned_once(check: Run) -> None:
    put("a.md", "The frob is on the zorbl. The zorbl saw a frob and a zorbl.\n" + TEXT * 3), put("b.py", "frob(quux)\n")
    put(".lev-plugins.toml", 'words = ["zzz"]\n')
    assert check("--learn-words")[0] == 0
    words = Path(".lev-words.txt").read_text().split()
    assert set(words) == {"zorbl", "frob", "teh"} and words[-1] == "frob"
    put(".lev-words.txt", "# mine\r\nfrob")
    check("--learn-words")
    content = Path(".lev-words.txt").read_bytes()
    assert content.startswith(b"# mine\r\nfrob\n") and b"zzz" not in content
    check("--learn-words")
    assert Path(".lev-words.txt").read_bytes() == content


def test_source_strings(check: Run) -> None:
    put("a.po", 'msgid "We saw teh cat."\nmsgstr "We recieve the cat."\n')
    assert check()[1].count(b"\n") == 1
    assert check("--source-strings")[1].count(b"\n") == 2


def test_a_wrong_setting_is_refused(check: Run) -> None:
    put(".lev-plugins.toml", "word = []\n")
    status, _, err = check()
    assert status == 2 and mentions(err, "word words")


# ---- the cache -------------------------------------------------------------------------------------------------------


def test_a_second_run_reads_the_cache(check: Run, speller: Speller) -> None:
    put("a.md"), put("clean.md", CORRECT)
    cold, segments = check(), speller.segments
    assert check() == cold and speller.segments == segments
    put("a.md", "We recieve teh cat.\n")
    assert check()[1].count(b"\n") == 2 and speller.segments > segments


def test_settings_decide_what_the_cache_has(check: Run) -> None:
    put("a.md")
    assert check()[0] == 1
    assert check("--min-confidence", 0.99)[0] == 0
    put(".lev-words.txt", "teh\n")
    assert check()[0] == 0


def test_words_of_other_files_decide_in_spite_of_the_cache(check: Run) -> None:
    put("a.md", f"{TEXT}\n{SECOND}"), put("b.md", CORRECT)
    assert check()[1].count(b"\n") == 2
    put("b.md", "This is a teh.\n")
    assert check()[1] == b'a.md:3:4: "recieve" -> "receive" (0.97)\n'  # the other word recurs
    put("b.md", CORRECT)
    assert check()[1].count(b"\n") == 2


DAMAGED = [b"", b"{", b"[]", b'{"words": {"a": 1}, "edits": []}', b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_cache_costs_only_time(content: bytes, check: Run, tmp_path: Path) -> None:
    put("a.md")
    cold = check()
    (path,) = (tmp_path / "cache").rglob("*.json")
    path.write_bytes(content)
    assert check() == cold
    assert json.loads(path.read_bytes())["edits"]


def test_a_cache_that_cannot_be_written_costs_only_time(check: Run, tmp_path: Path) -> None:
    put("a.md")
    cold = check("--no-cache")
    assert not (tmp_path / "cache").exists()
    (tmp_path / "cache").write_text("a file")
    assert check() == check() == cold


@posix
def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def nobody(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert cache.cache_path(()).name.endswith(".json")


# ---- bad input -------------------------------------------------------------------------------------------------------


@posix
def test_what_cannot_be_read_has_a_sentence_each(check: Run, tmp_path: Path) -> None:
    put("latin.md", b"a\xe9"), put("large.md", b"a" * (MAX_BYTES + 1)), put("good.md")
    os.symlink("loop.md", "loop.md")
    os.mkfifo("pipe.md")
    Path("folder.md").mkdir()
    put("folder.md/b.md", SECOND)
    names = ["latin.md", "large.md", "loop.md", "pipe.md"]
    status, out, err = check(*names, "good.md", "folder.md", "--write")
    assert status == 2 and out.count(b"\n") == 2 and err.count("\n") == len(names)
    assert all(mentions(err, name) for name in names)
    assert (Path("good.md").read_text(), Path("folder.md/b.md").read_text()) == (CORRECT, SECOND_CORRECT)
    assert check("/dev/zero")[0] == 0


@posix
@pytest.mark.skipif(not as_root, reason="only root can be somebody else")
def test_a_file_that_another_user_may_not_read(check: Run, tmp_path: Path) -> None:
    put("a.md").chmod(0o000), put("b.md")
    code = (
        "import os, pathlib; from lev_plugins.checking.files import read; os.setuid(65534); read(pathlib.Path('a.md'))"
    )
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)
    assert "a.md cannot be read: Permission denied" in result.stderr


@pytest.mark.parametrize("content", ["<<<<<<< ours\n{}", "[" * 100_000], ids=["conflict", "deep"])
def test_a_broken_notebook_is_named(content: str, check: Run) -> None:
    put("a.ipynb", content), put("empty.ipynb", "\ufeff\n"), put("b.md")
    status, out, err = check()
    assert status == 2 and out.startswith(b"b.md:1:8") and mentions(err, "a.ipynb JSON") and "empty" not in err


def test_a_work_tree_of_another_owner(check: Run, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    put("a.md"), git("add", ".")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    for flags in ([], ["a.md", "--staged"]):
        status, out, err = check(*flags)
        assert (status, out) == (2, b"") and err.startswith("lev-plugins: error: ") and mentions(err, "safe.directory")
    assert check("a.md")[0] == 1  # needs no git


def test_thousands_of_files(check: Run, speller: Speller) -> None:
    for i in range(2_000):
        put(f"{i % 50}/{i}.md", CORRECT)
    put("0/0.md"), put("49/1999.md", SECOND)
    status, out, err = check("--jobs", 1)
    assert (status, out.count(b"\n"), err) == (1, 2, "") and speller.segments == 2


def test_a_line_of_a_megabyte(check: Run) -> None:
    long = CORRECT.strip() + " "
    before = long * (10**6 // len(long))
    put("a.md", before + TEXT)
    assert check("--write")[:2] == (1, f'a.md:1:{len(before) + 8}: "teh" -> "the" (0.97)\n'.encode())
    assert Path("a.md").read_text() == before + CORRECT


@posix
def test_strange_names(check: Run) -> None:
    names = ["line\nfeed.md", " blank .md", f"not-utf-8{NOT_UTF_8}.md", "-dash.md", "😀.md"]
    for name in names:
        put(name)
    put("x.txt", "This is teh hat.\n").rename("\\x.md")
    put(".lev-plugins.toml", "")
    status, out, err = check("--write")
    assert (status, err) == (0, "")  # the typo recurs, so it is a word of the project
    for name in names:
        status, out, err = check("--diff", "--", name)
        assert (status, err) == (1, "")
        subprocess.run(["git", "apply", "-"], input=out, check=True)
        assert Path(name).read_text() == CORRECT


# ---- processes and signals, with models/en ---------------------------------------------------------------------------

PROSE = "The garden was beatiful until the storm.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_models_en_with_one_process_and_two(folder: Path) -> None:
    put("a.md", PROSE), put("b.md", "I think that we shoud wait for seperate letters.\n"), put("c.md", b"\xe9")
    one, two = (subprocess.run([*CHECK, "--no-cache", "--jobs", n], capture_output=True, check=False) for n in "12")
    assert one.returncode == two.returncode == 2
    assert (one.stdout, one.stderr) == (two.stdout, two.stderr) and one.stdout.count(b"\n") == 3


@posix
def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    put("a.md", PROSE)
    with subprocess.Popen(CHECK, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # type: ignore[union-attr]
        assert process.stderr.read() == b"" and process.wait() == 141  # type: ignore[union-attr]


@posix
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_whole_files(number: signal.Signals, jobs: str, folder: Path) -> None:
    words = ["recieve", "beatiful", "untill", "mesage", "shoud", "seperate", "wich", "becuase"]
    files = {f"{i}{word}.md": f"I think that we {word} in the garden.\n" for i, word in enumerate(words)}
    for name, content in files.items():
        put(name, content)
    command = [*CHECK, "--write", "--no-cache", "--jobs", jobs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        deadline = time.monotonic() + 10
        while process.poll() is None and time.monotonic() < deadline and not changed(files):
            time.sleep(0.001)
        process.send_signal(number)
        _, err = process.communicate()
    assert "Traceback" not in err
    assert sorted(os.listdir()) == sorted(files)  # no scratch file
    for name in files:
        assert Path(name).read_text().endswith(" in the garden.\n")


def test_a_signal_while_processes_are_ending_waits_for_their_end() -> None:
    """Otherwise Python would end them itself, and at times print a traceback of its own."""
    calls: list[str] = []

    class Pool(ProcessPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            calls.append("shutdown")
            if len(calls) == 1:
                raise SystemExit(143)
            super().shutdown(wait, cancel_futures=cancel_futures)

    with pytest.raises(SystemExit), ending(Pool(1)):
        pass
    assert len(calls) == 2


def changed(files: dict[str, str]) -> bool:
    return any(Path(name).read_text() != content for name, content in files.items())


def test_a_signal_between_any_two_steps_of_a_write_leaves_no_scratch_file(
    check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ending(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> None:
            function(*arguments)
            raise SystemExit(143)

        return call

    for name in ("open", "fsync", "replace", "chmod"):
        put("a.md")
        with monkeypatch.context() as patch:
            patch.setattr(os, name, ending(getattr(os, name)))
            with pytest.raises(SystemExit):
                check("--write", "--no-cache")
        assert os.listdir() == ["a.md"] and Path("a.md").read_text() in (TEXT, CORRECT)
