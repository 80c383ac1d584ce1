"""What each page says of the commands that it prints, checked on what these have printed and written.

There is a function for each page, in ``CLAIMS``. It takes the page after its commands have run. A comment quotes a
sentence of the page, where the code alone would not say what is checked.
"""

import json
import re
import zipfile
from collections.abc import Callable
from typing import Any

import torch
from rapidfuzz.distance import Levenshtein

from examples.toy.make import ENGLISH, GERMAN
from lev_plugins.export.load_model import read_models
from lev_plugins.training import checkpoints
from tests.commands import hypotheses, outputs, same_hypotheses
from tests.pages import Page

EDITING = ["toy/data", "--user-dir", "lev_plugins", "--task", "text_editing", "--cpu"]
DRAFTED = [*EDITING, "--draft-lang", "mt", "--gen-subset"]
EDITOR = "toy/editor/checkpoint_best.pt"
ORACLE = ["fairseq-generate", *DRAFTED, "test", "--path", EDITOR, "--oracle"]


def updates(page: Page, folder: str) -> int:
    """Returns the number of updates of a training."""
    state = checkpoints.load(page.file(f"{folder}/checkpoint_last.pt"))
    return int(state["optimizer_history"][-1]["num_updates"])


def in_order(log: str) -> list[str]:
    return [text for _, text in sorted(outputs(log).items())]


def bleu(log: str) -> float:
    [score] = re.findall(r"BLEU4 = ([\d.]+)", log)
    return float(score)


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """Returns the text with its edits, which have places in the text and a replacement."""
    for edit in reversed(edits):
        text = text[: edit["start"]] + edit["replacement"] + text[edit["end"] :]
    return text


def quick_start(page: Page) -> None:
    sides = {side: page.lines(f"train.{side}") for side in ("src", "mt", "tgt")}
    # "Line 2 of the training text"
    for name, side in (("source", "src"), ("draft", "mt"), ("target", "tgt")):
        assert f"| {name} | `{sides[side][1]}` |" in page.text
    # "its English translation, word by word, without particles"; "the target with at most one mistake"
    for source, draft, target in zip(*sides.values(), strict=True):
        translated = iter([ENGLISH[GERMAN.index(word)] for word in source.split()])
        assert all(word in translated for word in target.split())
        assert Levenshtein.distance(draft.split(), target.split()) <= 1
    prepared = page.printed("lev-plugins prepare")
    assert page.shown("part   side") in prepared
    # "It ends with the arguments for `fairseq-train` and `fairseq-generate`: the folder and the suffixes of the files."
    assert prepared.endswith("toy/data --source-lang src --target-lang tgt --draft-lang mt\n")

    # "The log has a line like these every fifth epoch and at the end"
    epochs = re.findall(r"epoch (\d+) \| valid on 'valid' subset (.*)", page.printed("fairseq-train"))
    assert [int(number) for number, _ in epochs] == [5, 10, 15, 20, 22]
    table = page.text[page.text.index("| column |") :].partition("\n\n")[0]
    columns = re.findall(r"`([a-z_]+)`", table)
    assert len(columns) > 8 and [name for name in columns if f"| {name} " not in epochs[-1][1]] == []
    # "keep the checkpoint with the best BLEU"
    bleus = [float(re.findall(r"\| bleu ([\d.]+)", line)[0]) for _, line in epochs]
    best = checkpoints.load(page.file("editor/checkpoint_best.pt"))["extra_state"]["val_loss"]
    assert abs(best - max(bleus)) < 0.001 and best > 80

    # "`lev-plugins score` compares the editor with the unedited drafts."
    scores = page.printed("lev-plugins score")
    editor, nothing = re.findall(r"TER = ([\d.]+)", scores)
    assert page.shown("do nothing").splitlines()[1] in scores and float(editor) < 0.4 * float(nothing)
    # "The last line of `toy/generate.log` has the score of the editor alone."
    assert f"TER = {editor}" in page.lines("generate.log")[-1]
    # "here without the last row, `score`"
    assert page.shown("sentence 10") in scores
    # "`H-0` is the result ... `D-0` is the same result"
    typed = page.printed("fairseq-interactive")
    assert hypotheses(typed)[0][1] == outputs(typed)[0] == "today comes his cat"


def scaling(page: Page) -> None:
    # "This is how two processes train without a GPU" ... "without it, fairseq trains nothing and reports success"
    assert updates(page, "two") == 5
    [training] = [block for block in page.results if "--distributed-rank $rank" in block]
    page.run("bash", "-euc", training.replace(" --distributed-no-spawn &", "").replace("toy/two", "toy/none"))
    assert not page.file("none").exists()

    # `--last 2`
    names = re.findall(r"editor/checkpoint\d+\.pt", page.printed("lev-plugins average"))
    one, other, average = (checkpoints.load(page.file(name))["model"] for name in [*names, "average.pt"])
    assert all(torch.allclose(average[name], (one[name] + other[name]) / 2, atol=1e-6) for name in average)

    # "Here, each process decodes every second batch"
    shards = [outputs(page.read(f"shard.{number}")) for number in (0, 1)]
    assert [len(shard) for shard in shards] == [52, 48] and not shards[0].keys() & shards[1].keys()
    whole = page.run("fairseq-generate", *DRAFTED, "test", "--path", "toy/average.pt").out
    assert outputs(whole) == shards[0] | shards[1] and len(outputs(whole)) == 100
    # "`lev-plugins score --generated` refuses a log in which a sentence is missing, or has two different outputs."
    page.file("shards").write_text(f"{whole}{page.read('shard.0')}S-0\theute\nD-0\t-0.1\tother\n", "utf-8")
    refused = ["lev-plugins", "score", "bleu", "toy/shard.0", "toy/test.tgt", "--generated"]
    assert "is incomplete: it has 52 sentences" in page.refusal(*refused)
    assert "has two different outputs D-0" in page.refusal(*refused[:3], "toy/shards", *refused[4:])
    # "`cat toy/edited/*` is what `cat toy/corpus/* | lev-plugins edit toy/light` prints"
    if page.file("edited").exists():  # with Dask
        parts = sorted(page.file("edited").iterdir())
        one = page.run("lev-plugins", "edit", "toy/light", stdin=page.read("corpus/train.mt")).out
        assert "".join(path.read_text(encoding="utf-8") for path in parts) == one
    # "a teacher's outputs replace the targets. Sources, drafts, other splits and dictionaries stay the same."
    files = {path.name: path.read_bytes() for path in page.file("data").iterdir()}
    distilled = {path.name: path.read_bytes() for path in page.file("distilled").iterdir()}
    changed = {name for name in files if name.startswith("train.src-tgt.tgt.")}
    assert {name for name, content in files.items() if distilled.get(name) != content} == changed
    assert set(distilled) == set(files) and len(changed) == 2


def noise(page: Page) -> None:
    # "writes one noisy line per input line" ... "text that no slip touches stays identical"
    first, second = page.printed("keyboard:2,swap:1").splitlines()
    assert "  " in first and [first, second] != ["The quick  brown fox", "jumps over the lazy dog."]
    # "this command prints ..."
    assert f"this command prints `{page.printed('--shift-rate 0.5').rstrip()}`:" in page.text
    # "The table has three columns"
    rows = [line.split("\t") for line in page.lines("confusions.tsv")]
    assert rows[0] == ["characters", "become", "rate"] and {len(row) for row in rows} == {3}
    assert len(page.lines("train.mistaken")) == 5000
    assert updates(page, "alone") == 20
    # a training that is complete is not trained again
    [training] = [block for block in page.results if "toy/alone-data" in block]
    before = page.file("alone/checkpoint_last.pt").read_bytes()
    again = page.run("bash", "-euc", training[training.index("fairseq-train") :]).both
    assert "this training is complete: it has had 20 of 20 updates; raise --max-update to continue" in again
    assert page.file("alone/checkpoint_last.pt").read_bytes() == before


def scoring(page: Page) -> None:
    scores = page.printed("lev-plugins score bleu")
    values = re.findall(r"BLEU = ([\d.]+) .*, 95 % between ([\d.]+) and ([\d.]+)", scores)
    assert len(values) == 2 and all(float(low) < float(value) < float(high) for value, low, high in values)
    assert "F0.5 = 1.0000 (precision 1.0000, recall 1.0000, correct 1, proposed 1, gold 1)" in scores
    # "A word of the clean text is broken if it is not in the output in its place"
    assert "broken of 1,000 right words = 200.0" in page.printed("lev-plugins score harm")


def correction(page: Page) -> None:
    # "`exact_match`: percentage of lines without a mistake"
    log, decoded = page.printed("--arch pbd_tiny"), page.printed("--eval-exact-match")
    assert updates(page, "pbd") == 150 and float(re.findall(r"\| exact_match ([\d.]+)", log)[-1]) > 50
    assert len(outputs(decoded)) == 100

    # "prints one object per line with the `text` and its `edits`" ... "Everything outside an edit stays as it was"
    edited = [json.loads(line) for line in page.printed("--json --min-confidence 0.5").splitlines()[1:]]
    for line, answer in zip(["B . E  c", "b c d"], edited, strict=True):
        assert applied(line, answer["edits"]) == answer["text"]
        assert all(edit["confidence"] >= 0.5 and edit["iteration"] == 1 for edit in answer["edits"])
    assert edited[0]["text"] == "b e  c" and edited[1]["edits"] == []
    assert [line.partition(" (")[0] for line in page.printed("print(edited.text").splitlines()] == ["b e  c", "b c d"]
    # "`--words FILE` protects words of your own"
    page.file("mine").write_text("B\n", "utf-8")
    command = ["lev-plugins", "edit", "toy/pbd-editor"]
    assert page.run(*command, "--words", "toy/mine", stdin="B . E  c\n").out.startswith("B ")

    # "These two flags make a corrector change less."
    assert len(re.findall(r"^system +GLEU = [\d.]+", page.printed("for confidence in 0 0.5 0.9"), re.M)) == 3

    # "After these forty updates, the output is still worse than the input."
    wrr = float(re.findall(r"\| wrr ([\d.]+)", page.printed("--arch gated_trans_tiny"))[-1])
    scored = page.run("lev-plugins", "score", "wrr", "toy/valid.noisy", "toy/valid.clean", "--json").out
    assert updates(page, "gated") == 40 and 20 < wrr < 100 * json.loads(scored)["system"]["score"]
    if page.file("gates.png").exists():  # with the extra [plot]
        assert len(page.lines("gates.jsonl")) == 100
        assert all(page.read(name).count("</svg>") == 1 for name in ("length.svg", "noise.svg"))


def user_dir(page: Page) -> None:
    assert updates(page, "hydra") == 5


def editing(page: Page) -> None:
    # "500 real triples and 4,500 synthetic ones become the two parts of a training set"; "`--upsample-primary 10`
    # repeats the real triples ten times per epoch."
    prepared = page.printed("--learn-sentencepiece 37")
    assert [re.findall(rf"^{part} +src +([\d,]+) ", prepared, re.M) for part in ("train", "train1")] == [
        ["500"],
        ["4,500"],
    ]
    task = read_models([page.file("triples-editor/checkpoint_last.pt")], {"data": str(page.file("triples"))}).task
    task.load_dataset("train", combine=True)
    assert len(task.dataset("train")) == 10 * 500 + 4500

    # "Those that would change the result (...) are refused, and so are `--left-pad-target` and `--load-alignments`."
    values = {"--prefix-size": [2], "--lm-path": [EDITOR], "--no-repeat-ngram-size": [2], "--diverse-beam-groups": [5]}
    values |= {"--sampling": ["--nbest", 5]}
    sentence = page.text[page.text.index("Those that would") :].partition("These flags limit")[0]
    flags = re.findall(r"`(--[a-z-]+)`", sentence)
    assert len(flags) == 13
    for flag in flags:
        assert f"error: {flag} " in page.refusal(
            "fairseq-generate", *DRAFTED, "test", "--path", EDITOR, flag, *values.get(flag, [])
        )

    # marks: "the words stay, and nothing is inserted between them"; "deleted"
    marked = outputs(page.printed("--keep-bias 2"))[0]
    assert "gladly and" in marked and "home" not in marked
    [edited] = [json.loads(line) for line in page.printed("--cpu --json < toy/mine.source").splitlines()]
    assert (
        edited["text"] == applied("comes  gladly and home Zürich", edited["edits"]) and "gladly and" in edited["text"]
    )
    # "An edit that a mark requests has confidence 1."
    assert [edit["confidence"] for edit in edited["edits"] if edit["start"] <= 18 < edit["end"]] == [1]

    # "its translation is in the output"
    assert all(term in page.read("mine.edited") for term in ("Zürich", "brings his"))

    # "With `--keep-bias B`, an editor changes less ... With a negative B, the editor changes more."
    drafts, changes = page.lines("test.mt"), []
    for bias in (-20, 0, 20):
        log = page.run("fairseq-generate", *DRAFTED, "test", "--path", EDITOR, f"--keep-bias={bias}").out
        changes.append(sum(map(str.__ne__, drafts, in_order(log))))
    assert changes[0] >= changes[1] > changes[2]
    assert re.findall(r"^(-2|0|2): Generate valid .* TER = ", page.printed("for bias in"), re.M) == ["-2", "0", "2"]
    # "`--oracle` measures how much could be gained"
    with_oracle = [bleu(page.run(*ORACLE, oracle).out) for oracle in ("none", "delete", "delete+placeholder")]
    assert with_oracle == sorted(with_oracle) and with_oracle[1] == bleu(page.printed("test --oracle delete --cpu"))

    # "`--bpe words` splits text into whole words ... `--clean-train` reads only the training targets."
    prepared = page.printed("--clean-train")
    numbers = [re.findall(rf"^train +{side} (.*)", prepared, re.M) for side in ("noisy", "draft", "clean")]
    assert numbers[0] == numbers[1] == numbers[2] and updates(page, "speller") == 40

    # "`lev-plugins trace` shows the edits between these states"
    selected = re.sub(r"\x1b\[[\d;]*m", "", page.printed("--select 4,17"))
    assert re.findall(r"^sentence (\d+)", selected, re.M) == ["4", "17"]
    assert page.printed("--select 4,17") != selected
    if page.file("iterations.svg").exists():  # with the extra [plot]
        assert all(page.read(f"{name}.svg").count("</svg>") == 1 for name in ("iterations", "oracle", "exits"))

    # "learns from the same triples and writes from left to right, with fairseq's beam search"
    assert updates(page, "post-editor") == 40 and list(outputs(page.printed("--arch post_edit_transformer"))) == [0]


def editors(page: Page) -> None:
    # "The second command ends at once, because nobody speaks to it."
    assert page.file("writer/graphs").is_dir() and page.run("lev-plugins", "lsp", "toy/writer", stdin="").out == ""


def labelling(page: Page) -> None:
    # "The last command prints `{"words": [...], "labels": [...], "scores": [...]}`."
    [shown] = re.findall(r"The last command prints `(.*)\[\.\.\.\]\}`", page.text)
    labelled = page.printed(
        "--label-kind tagging --train toy/tags.train.tsv --valid toy/tags.valid.tsv --dest toy/tags\n"
    )
    assert labelled.splitlines()[-1].startswith(shown)
    assert re.findall(r"^valid .*", labelled, re.M) and "| tag_accuracy 100" in labelled

    # "finds one threshold for each label ... With `--common`, it finds one threshold for all labels"
    thresholds = json.loads(page.read("thresholds.json"))
    command = ["lev-plugins", "tune-thresholds", "toy/setter/checkpoint_best.pt", "toy/common.json", "--cpu"]
    page.run(*command, "--common")
    common = json.loads(page.read("common.json"))
    assert thresholds.keys() == common.keys() == {"also", "mal", "halt"} and len(set(common.values())) == 1
    assert "tuned on a test set" in page.refusal(*command, "--split", "test")
    # "A label is assigned if its probability reaches a threshold"
    [answer] = map(json.loads, page.printed("--thresholds toy/thresholds.json").splitlines()[-1:])
    reached = {label for label, score in answer["all_scores"].items() if score >= thresholds[label]}
    assert set(answer["labels"]) == reached == {"mal", "halt"}
    assert "'labels': ['halt', 'mal']" in page.printed("labeller = lev_plugins.load")

    if page.file("tagger-byt5").exists():  # with the extra [pretrained]
        assert updates(page, "tagger-byt5") == 3


def models(page: Page) -> None:
    # "become the defaults of the folder. Flags of `edit` and `label` take precedence."
    config = json.loads(page.read("corrector/config.json"))
    assert config["decoding"]["keep_bias"] == 0.5 and "decoding      keep_bias: 0.5" in page.printed("lev-plugins info")
    assert "\nlicense: mit\n" in page.read("corrector/README.md")
    edit = ["lev-plugins", "edit", "--cpu"]
    biased, checkpoint = [*edit, "toy/corrector", "--keep-bias", 0], [*edit, EDITOR, "--data", "toy/data"]
    text = page.read("test.src")
    edited = page.run(*checkpoint, stdin=text).out
    assert page.run(*biased, stdin=text).out == edited
    # "An existing folder is refused"
    export = ["lev-plugins", "export", EDITOR, "toy/corrector", "--data", "toy/data"]
    assert "toy/corrector" in page.refusal(*export)

    # "The weights and the chosen `--min-confidence` are in `config.json`"; "of the edits that claim 0.9, about nine in
    # ten are right"
    config = json.loads(page.read("sure/config.json"))
    assert len(config["calibration"]) > 5 and config["decoding"]["min_confidence"] is not None
    curves = page.printed("lev-plugins sweep").split("\n\n")
    rows = [line.split() for line in curves[-1].splitlines()]
    assert rows[0] == ["at", "least", "edits", "claimed", "right"]
    tenths = [list(map(float, row)) for row in rows[1:]]
    assert sum(edits * abs(claimed - right) for _, edits, claimed, right in tenths) < 0.2 * sum(
        row[1] for row in tenths
    )
    # "how many right words are broken": no more with a higher `--min-confidence`, and none of those that stay
    changed = [float(line.split()[-1]) for line in curves[-2].splitlines()[2:]]
    assert changed == sorted(changed, reverse=True)

    # "the edits and labels are the same", and "load neither torch nor fairseq"
    assert page.run("lev-plugins", "edit", "toy/light", stdin=text).out == edited
    alone = "import lev_plugins, sys; print(lev_plugins.load('toy/light').edit(['heute kommt Lehrer'])[0].text)"
    assert page.run("python", "-c", f"{alone}; print('torch' in sys.modules)").out == "today comes teacher\nFalse\n"
    # "`toy/lev_plugins_en-0.2.0-py3-none-any.whl`"
    [name] = re.findall(r"`toy/(lev_plugins_en-\S+\.whl)`", page.text)
    assert any(member.endswith("/config.json") for member in zipfile.ZipFile(page.file(name)).namelist())
    assert page.printed("editor = lev_plugins.load") == "today comes his cat\n"

    # "`--diff` prints each line with its edits"
    first, *rest = page.printed("--resume toy/edited.txt").splitlines()
    assert len(rest) == 2 and re.search(r"\[-.*-\]|\{\+.*\+\}", first)
    # "the same command continues with the same input", and "the file becomes what it would have been without the stop"
    whole = page.read("edited.txt")
    assert whole == page.run(*edit, "toy/corrector", stdin=text).out and whole.count("\n") == 100
    page.file("edited.txt").write_text(whole[: len(whole) // 2], "utf-8")
    page.run(*edit, "toy/corrector", "--batch-lines", 16, "--resume", "toy/edited.txt", stdin=text)
    assert page.read("edited.txt") == whole
    assert page.printed("LevT.from_pretrained") == "['today comes teacher']\n"


def pretrained(page: Page) -> None:
    # "`import-levt` makes a `levt` from the teacher's weights. Only the deletion head, the placeholder head and the
    # placeholder are new."
    new, teacher = (checkpoints.load(page.file(name))["model"] for name in ("begun.pt", "teacher/checkpoint_last.pt"))
    assert {name for name in new if "deletion" in name or "placeholder" in name} and updates(page, "warm") == 5
    sizes = [sum(weight.numel() for name, weight in weights.items()) for weights in (new, teacher)]
    assert sizes[0] > sizes[1]
    # "The imported checkpoint decodes with `--task text_editing` to the same text and scores"
    log = page.printed("levenshtein_transformer")
    flags = ["toy/data", "--user-dir", "lev_plugins", "--task", "translation_lev", "-s", "src", "-t", "tgt", "--cpu"]
    flags += ["--path", "toy/fairseq-levt/checkpoint_last.pt", "--gen-subset", "test"]
    flags += ["--required-batch-size-multiple", 1]
    same_hypotheses(log, page.run("fairseq-generate", *flags).out)
    assert len(hypotheses(log)) == 100
    if page.file("byt5").exists():  # with the extra [pretrained]
        # "a folder whose token ids follow fairseq's order"; "`encode --decode`"
        assert page.lines("byt5/dict.txt") and updates(page, "gated-t5") == updates(page, "reader") == 3
        decoded = page.run("lev-plugins", "encode", "toy/byt5", "--decode", stdin=page.read("bytes/valid.tgt")).out
        assert decoded == page.read("valid.tgt")


def serving(page: Page) -> None:
    # "with the object of `lev-plugins edit --json` for each text"
    answer = json.loads(page.read("edited.json"))
    page.file("mine").write_text("yes comes his cat\n", "utf-8")
    command = ["lev-plugins", "edit", EDITOR, "--data", "toy/data", "--cpu", "--json", "--drafts", "toy/mine"]
    assert answer["results"] == [json.loads(page.run(*command, stdin="heute kommt ja seine Katze\n").out)]
    assert answer["results"][0]["text"] == "today comes his cat" and answer["model"] == "checkpoint_best"
    # "A match has up to five replacements ... The rules are ..."
    matches = json.loads(page.read("checked.json"))["matches"]
    rules = set(re.findall(r"`(LEV_[A-Z]+)`", page.text))
    assert matches and {match["rule"]["id"] for match in matches} <= rules and len(rules) == 3
    assert all(1 <= len(match["replacements"]) <= 5 for match in matches)
    # "the models with their kind, and whether they take drafts"
    [model] = json.loads(page.read("models.json"))["models"]
    assert (model["kind"], model["drafts"]) == ("edit", True)
    assert page.printed("openssl rand").count('{"status":"ok"}') == 1


def language(page: Page) -> None:
    # "`--language-files uk`": the noise has letters of the language alone
    text = "Щодня сім тисяч людей їздить метро."
    noisy = page.printed("--language-files uk").rstrip("\n")
    assert noisy != text and len(noisy.split()) == len(text.split()) and not re.search("[a-zыэъё]", noisy)


CLAIMS: dict[str, Callable[[Page], None]] = {
    "docs/quick-start.md": quick_start,
    "docs/scaling.md": scaling,
    "docs/noise.md": noise,
    "docs/scoring.md": scoring,
    "docs/correction.md": correction,
    "user_dir.md": user_dir,
    "docs/editing.md": editing,
    "docs/editors.md": editors,
    "docs/labelling.md": labelling,
    "docs/language.md": language,
    "docs/models.md": models,
    "docs/pretrained.md": pretrained,
    "docs/serving.md": serving,
}
