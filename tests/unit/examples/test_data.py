"""examples/data.py: published sets become the files that the examples read, from the web or from a folder."""

import hashlib
import io
import re
import tarfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

import pytest

from examples.data import main
from examples.published import fetching, making
from examples.published.sets import read_sets
from tests.commands import ROOT
from tests.helpers import file_contents, mentions
from tests.published import publish, write_archive

SETS = read_sets()
JFLEG = SETS["jfleg"]
WEB = "https://host/"
EXPECTED = {  # one file or two for each conversion and each kind of archive
    "jfleg/dev.ref3": "first dev.ref3 \n\nlast dev.ref3\n",
    "cweb/G.dev.src": "a cat sit\n",
    "cweb/G.dev.ref0": "a cat sits\n",
    "cweb/G.dev.ref1": "a cat sit\n",
    "wi-locness/A.train.gold.bea19.m2": "first A.train.gold.bea19.m2 \n\nlast A.train.gold.bea19.m2\n",
    "ua-gec/train.noisy": "".join(f"first {i}.src.txt\nlast {i}.src.txt\n" for i in range(1, 10)),
    "ua-gec/train.clean": "".join(f"first {i}.a{i}.txt\nlast {i}.a{i}.txt\n" for i in range(1, 10)),
    "ua-gec/valid.clean": "first 10.a10.txt\nlast 10.a10.txt\n",
    "icdar2017/periodical.valid.src": "a1\nb1\n",
    "icdar2017/periodical.valid.tgt": "a2\nb2\n",
    "icdar/all.src": "Tbe sat\n",
    "icdar/all.tgt": "The slat\n",
    "alta2017/all.tgt": "first train_output.csv, its end\nlast train_output.csv\n",
    "glue/mnli/valid.tsv": "a8\ta9\ta9\nb8\tb9\tb9\n",
    "glue/mrpc/valid.tsv": "b3\tb4\tb0\n",
    "ocr-finnish/fold9/test.src": "S m\n0 ^\n",
    "ocr-finnish/fold9/test.tgt": "S - i n\no\n",
    "misspellings/wiki.clean": "first correct.txt \n\nlast correct.txt\n",
    "multi30k/test.de": "first test_2016_flickr.lc.norm.tok.de \n\nlast test_2016_flickr.lc.norm.tok.de\n",
    "wmt14-en-de/train.de": "".join(
        f"first {name}.de-en.de\nlast {name}.de-en.de\n"
        for name in ("europarl-v7", "commoncrawl", "news-commentary-v9")
    ),
    "wmt14-en-de/test.en": "first newstest2014-deen-src.en.sgm\nlast newstest2014-deen-src.en.sgm\n",
    "sst2/valid.tsv": "a0\ta1\nb0\tb1\n",
    "mrpc/train.tsv": "a3\ta4\ta0\n",
    "mrpc/dev.tsv": "b3\tb4\tb0\n",
    "goemotions/dev.tsv": "It works!\t3,4\nNo.\t27\n",
    "ud-ewt/test.tsv": "I do n't\tPRON AUX PART\n",
    "eurlex57k/train.tsv": "On fish Whereas fish swim,\t12,7\n",
    "eurlex57k/labels.txt": "12\n7\n",
    "imdb/all.src": "Good. Very good.\n",
    "free-english/gov.txt": "We read it at Dr. Bell\u2019s, and more.\nWe list things.\nEach is said (once).\n"
    "A quote goes on below.\n“So I am. Very much so,” said Mr. Bell.\nIt was—all of it.\n",
    "free-english/dialogues.txt": "Hi, is it open?\nNo, we are closed.\nAsk again later!\n",
    "gigaword/test.title": "first task1_ref0.txt\nlast task1_ref0.txt\n",
}

DIALOGUES = "raw.githubusercontent.com/google-research-datasets/Taskmaster/d92cb6af3005f1dc09c39e75e7daf4a04905e00b"
DIALOGUES += "/TM-4-2024/data"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache" / "lev-plugins" / "data"


def run_data(*words: object) -> int:
    return main([*map(str, words)])


@pytest.fixture
def error(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Returns a function that runs the script with unusable arguments and returns its error line."""

    def refuse(*words: object) -> str:
        assert run_data(*words) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return refuse


@pytest.mark.parametrize("name", SETS)
def test_every_set_is_converted_alike_each_time(name: str, tmp_path: Path, capsys: Any) -> None:
    published = publish(SETS[name], tmp_path / "copies", documents=10 if name == "ua-gec" else 1)
    for out in ("one", "two"):
        assert run_data(name, tmp_path / out, "--from", published) == 0
    converted, converted_again = file_contents(tmp_path / "one"), file_contents(tmp_path / "two")
    assert converted == converted_again and all(converted.values())
    assert converted.keys() == {file for part in SETS[name].parts for file in part.to}
    expected = {place: text for place, text in EXPECTED.items() if place.startswith(f"{name}/")}
    assert {place: converted[place.partition("/")[2]].decode() for place in expected} == expected
    printed = capsys.readouterr().out
    assert f"licence: {SETS[name].licence}\n" in printed and f"{tmp_path / 'two'} is complete: " in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copies", "one", "two"]


def test_mistyped_words_are_shuffled_and_split(tmp_path: Path) -> None:
    assert run_data("typo-tweets", "out", "--from", publish(SETS["typo-tweets"], tmp_path / "copies")) == 0
    sizes, rows = {}, []
    for split in ("train", "dev", "test"):
        sides = [Path(f"out/fold0/{split}.{side}").read_text().splitlines() for side in ("src", "tgt")]
        sizes[split] = len(sides[0])
        rows += zip(*sides, strict=True)
    assert sizes == {"train": 10, "dev": 4000, "test": 4000}
    in_order = [(" ".join(f"wrod{i}"), " ".join(f"word{i}")) for i in range(8010)]
    assert sorted(rows) == sorted(in_order)
    assert sum(row == ordered_row for row, ordered_row in zip(rows, in_order, strict=True)) < 20
    assert rows[-1] == ("w r o d 5 3 9 3", "w o r d 5 3 9 3")


def test_addresses_are_pinned_and_use_https() -> None:
    for published in SETS.values():
        for file in published.files:
            address = published.at + file
            assert address.startswith("https://") and " " not in address
            assert "github" not in address or re.search(r"/[0-9a-f]{12,40}(/|\.zip$)", address)
        assert published.sha256.keys() <= published.files.keys()
        assert all(re.fullmatch("[0-9a-f]{64}", pinned) for pinned in published.sha256.values())
    assert "typo-corpus-r1.txt" in SETS["typo-tweets"].sha256 and "aclImdb_v1.tar.gz" in SETS["imdb"].sha256


def test_copies_at_the_top_of_the_folder_are_found(tmp_path: Path, error: Any) -> None:
    published = publish(JFLEG, tmp_path / "copies")
    for path in [*published.glob("*/*")]:
        path.rename(published / path.name)
    assert run_data("jfleg", "--from", published) == 0 and Path("data/jfleg/dev.ref0").is_file()
    (published / "test.ref2").unlink()
    assert mentions(error("jfleg", "x", "--from", "copies"), "--from copies test.ref2 jfleg")


def test_names_and_folders_are_checked(tmp_path: Path, error: Any, capsys: Any) -> None:
    assert "jfleg, cweb, wi-locness," in error()
    assert mentions(error("jflag", "x"), "jflag")
    assert mentions(error("nucle", "x"), "https://www.cl.cam.ac.uk/research/nl/bea2019st/ --from")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    assert mentions(error("jfleg", "full"), "full empty")
    (tmp_path / "empty").mkdir()
    assert mentions(error("nucle", "x", "--from", "empty"), "empty nucle.train.gold.bea19.m2")
    capsys.readouterr()
    assert run_data("--list") == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == ["name", *SETS] and "CC BY-NC-SA 4.0" in listed
    assert run_data("fce", "x", "--dry-run") == 0
    assert f"from {SETS['fce'].at}fce_v2.1.bea19.tar.gz" in capsys.readouterr().out and not Path("x").exists()


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("goemotions", "dev.tsv", "no column\n"),
        ("multi30k", "data/task1/tok/train.lc.norm.tok.de", "only one line\n"),
        ("cweb", "data/m2/CWEB-G.dev.m2", "S one annotator\n"),
        ("ud-ewt", "en_ewt-ud-dev.conllu", "1\tfew columns\n"),
        ("ocr-finnish", "data/klk.0.dev", "a : b : c\n"),
        ("typo-tweets", "typo-corpus-r1.txt", "no column\n"),
        ("free-english", f"{DIALOGUES}/data_07.json", '[{"turns": []}]'),
        ("jfleg", "dev/dev.src", b"\xff\n\n\n".decode("latin-1")),
    ],
)
def test_a_file_in_an_unexpected_format_is_refused(name: str, file: str, text: str, tmp_path: Path, error: Any) -> None:
    published = publish(SETS[name], tmp_path / "copies")
    (published / file).write_text(text, encoding="latin-1")
    assert mentions(error(name, "x", "--from", "copies"), f"format {name}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copies"]


# ---- archives of strangers -------------------------------------------------------------------------------------------


def hostile(path: Path, name: str = "m2/a", kind: bytes = tarfile.REGTYPE, size: int = 0) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size = kind, "/etc/passwd", size
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(entry, io.BytesIO(bytes(size)))


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda path: hostile(path, "../m2/a"), "'../m2/a' in it"),
        (lambda path: hostile(path, "/m2/a"), "'/m2/a' in it"),
        (lambda path: hostile(path, kind=tarfile.SYMTYPE), "'m2/a' in it"),
        (lambda path: hostile(path, kind=tarfile.LNKTYPE), "'m2/a' in it"),
        (lambda path: hostile(path, kind=tarfile.FIFOTYPE), "'m2/a' in it"),
        (lambda path: hostile(path, size=1001), "'m2/a' in it"),
        (lambda path: write_archive(path, {f"m2/{i}": bytes(400) for i in range(3)}), "'m2/2' in it"),
        (lambda path: path.write_bytes(b"<html>not found</html>"), "is damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), "is damaged"),
    ],
)
def test_hostile_and_damaged_archives_are_refused(
    write: Callable[[Path], object], reason: str, tmp_path: Path, error: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "MAX_UNPACKED_BYTES", 1000)
    archive = publish(SETS["conll14"], tmp_path / "copies") / "conll14st-test-data.tar.gz"
    write(archive)
    original_files = file_contents(tmp_path)
    assert reason in error("conll14", "x", "--from", "copies")
    assert file_contents(tmp_path) == original_files  # nothing is unpacked, written or remembered


def test_a_zip_that_leads_out_is_refused(tmp_path: Path, error: Any) -> None:
    write_archive(publish(SETS["sst2"], tmp_path / "copies") / "SST-2.zip", {"SST-2/../../train.tsv": b"a\n"})
    assert mentions(error("sst2", "x", "--from", "copies"), "'SST-2/../../train.tsv'")


# ---- the web ---------------------------------------------------------------------------------------------------------


class Web:
    """A server that may stop after ``sends`` bytes and may ignore the requested range."""

    def __init__(self, content: bytes, sends: int = 1 << 30, resumes: bool = True, url: str = f"{WEB}a.txt"):
        self.content, self.sends, self.resumes, self.url = content, sends, resumes, url
        self.asked: list[str | None] = []

    def __call__(self, request: Request, timeout: int) -> Any:
        self.asked.append(request.get_header("Range"))
        headers, begin = Message(), 0
        if self.asked[-1] and self.resumes:
            begin = int(re.sub(r"\D", "", str(self.asked[-1])))
            if begin >= len(self.content):
                raise HTTPError(self.url, 416, "Range Not Satisfiable", headers, None)
            headers["Content-Range"] = f"bytes {begin}-{len(self.content) - 1}/{len(self.content)}"
        headers["Content-Length"] = str(len(self.content) - begin)
        answer: Any = io.BytesIO(self.content[begin : begin + self.sends])
        answer.headers, answer.url = headers, self.url
        return answer


@pytest.fixture
def get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], bool]:
    """Makes conll14 from what a server sends; returns whether that succeeded."""
    archive = publish(SETS["conll14"], tmp_path / "copies") / "conll14st-test-data.tar.gz"

    def make(web: Any) -> bool:
        monkeypatch.setattr(fetching, "urlopen", web)
        if isinstance(web, Web) and not web.content:
            web.content = archive.read_bytes()
        return run_data("conll14", "out") == 0

    return make


def test_an_interrupted_download_is_resumed(get: Any, cache: Path, capsys: Any) -> None:
    partial_web, whole_web = Web(b"", sends=70), Web(b"")
    assert not get(partial_web) and "ended early" in capsys.readouterr().err
    part = cache / "conll14" / "conll14st-test-data.tar.gz.part"
    assert part.stat().st_size == 70 and not Path("out").exists()
    assert get(whole_web) and whole_web.asked == ["bytes=70-"] and not part.exists()
    assert part.with_suffix("").read_bytes() == whole_web.content and Path("out/official-2014.combined.m2").is_file()


def test_a_partial_download_survives_a_busy_server(get: Any, cache: Path) -> None:
    def busy(request: Request, timeout: int) -> Any:
        raise HTTPError(request.full_url, 503, "Service Unavailable", Message(), None)

    assert not get(Web(b"", sends=70)) and not get(busy)
    assert (cache / "conll14" / "conll14st-test-data.tar.gz.part").stat().st_size == 70


def test_a_server_without_ranges_sends_the_whole_file_again(get: Any, cache: Path) -> None:
    again = Web(b"", resumes=False)
    assert not get(Web(b"", sends=70)) and get(again)
    assert (cache / "conll14" / "conll14st-test-data.tar.gz").read_bytes() == again.content


def test_a_download_with_an_unexpected_hash_is_refused(
    get: Any, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The hash of a copy given by --from is not compared: it may be a different edition."""
    archive, web = "conll14st-test-data.tar.gz", Web(b"")
    pinned = SETS["conll14"]._replace(sha256={archive: "ab" * 32})
    monkeypatch.setattr("examples.data.read_sets", lambda: {"conll14": pinned})
    assert not get(web) and not Path("out").exists()
    digest = hashlib.sha256(web.content).hexdigest()
    error = capsys.readouterr().err
    place = cache / "conll14" / archive
    assert mentions(error, f"{place} {digest} conll14 {'ab' * 32} --from")
    assert not get(Web(b""))  # it is still there
    place.unlink()
    assert run_data("conll14", "given-out", "--from", tmp_path / "copies") == 0
    pinned.sha256[archive] = digest
    assert get(Web(b"")) and Path("out").is_dir()


def test_an_oversized_partial_download_is_removed(get: Any, cache: Path) -> None:
    part = cache / "conll14" / "conll14st-test-data.tar.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(10_000))
    assert not get(Web(b"")) and not part.exists()
    assert get(Web(b""))


def test_a_cached_file_is_not_downloaded_again(get: Any) -> None:
    assert get(Web(b""))
    Path("out").rename("before")
    silent = Web(b"")
    assert get(silent) and not silent.asked
    assert file_contents(Path("before")) == file_contents(Path("out"))


def test_a_missing_network_and_an_unsafe_redirect_are_reported(get: Any, capsys: Any) -> None:
    def offline(request: Request, timeout: int) -> None:
        raise URLError("Name or service not known")

    assert not get(offline)
    error = capsys.readouterr().err
    assert mentions(error, "conll14st-test-data.tar.gz known")
    assert not get(Web(b"", url="http://host/a")) and mentions(capsys.readouterr().err, "http://host/a safe")


# ---- pages --------------------------------------------------------------------------------------------------------


def test_sets_named_in_the_pages_exist() -> None:
    pages = [*ROOT.glob("examples/*/*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/*.sh")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    fetched = {*re.findall(r'(?:lev-plugins |/)data(?:\.py"?)? ([a-z]\w*(?:-\w+)*)', text)}
    assert {"cweb", "icdar"} <= fetched <= SETS.keys()


def test_documents_with_misaligned_corrections_are_left_out(tmp_path: Path) -> None:
    def text_of(conversion: str, path: str) -> str:
        return "One. Two.\n" if path.endswith("2.a2.txt") else f"first {path}\nlast {path}\n"

    assert run_data("ua-gec", "out", "--from", publish(SETS["ua-gec"], tmp_path / "copies", text_of, documents=3)) == 0
    numbers = [line.split("/")[-1] for line in Path("out/train.clean").read_text("utf-8").splitlines()]
    assert numbers == ["1.a1.txt", "1.a1.txt", "3.a3.txt", "3.a3.txt"]
