"""What each page says of the commands that it prints, checked on what these have printed and written.

There is a function for each page, in ``CLAIMS``. It takes the page after its commands have run. A comment quotes a
sentence of the page, where the code alone would not say what is checked. What unit tests check is not checked again.
"""

import json
import re
import zipfile
from collections.abc import Callable

from rapidfuzz.distance import Levenshtein

from lev_plugins import checkpoints
from tests.commands import hypotheses, outputs, same_hypotheses
from tests.pages import Page

DRAFTED = ["toy/data", "--user-dir", "lev_plugins", "--task", "text_editing", "--cpu", "--draft-lang", "mt"]
DRAFTED += ["--gen-subset"]
EDITOR = "toy/editor/checkpoint_best.pt"


def updates(page: Page, folder: str) -> int:
    """Returns the number of updates of a training."""
    state = checkpoints.load(page.file(f"{folder}/checkpoint_last.pt"))
    return int(state["optimizer_history"][-1]["num_updates"])


def quick_start(page: Page) -> None:
    sides = {side: page.lines(f"train.{side}") for side in ("src", "mt", "tgt")}
    # "This is line 2 of the training text"
    for name, side in (("source", "src"), ("draft", "mt"), ("target", "tgt")):
        assert f"| {name} | `{sides[side][1]}` |" in page.text
    # "A target is the source translated word by word, with some words left out. A draft is the target with at most one
    # mistake."
    for source, draft, target in zip(*sides.values(), strict=True):
        translated = iter(source.replace("w", "v").split())
        assert all(word in translated for word in target.split())
        assert Levenshtein.distance(draft.split(), target.split()) <= 1
    prepared = page.printed("lev-plugins prepare")
    assert page.shown("part   side") in prepared
    # "At the end, it prints the folder and its suffixes as `fairseq-train` and `fairseq-generate` take them."
    assert prepared.endswith("toy/data --source-lang src --target-lang tgt --draft-lang mt\n")

    # "Every fifth epoch, and at the end, the log has a line like these"
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
    # "This is sentence 1, without its last row, `score`"
    assert page.shown("sentence 1") in scores
    # "`H-0` is the result ... `D-0` is the same result"
    typed = page.printed("fairseq-interactive")
    assert hypotheses(typed)[0][1] == outputs(typed)[0] == "v1 v7 v11 v12"


def scaling(page: Page) -> None:
    # "This is how two processes train without a GPU" ... "without it, fairseq starts no process, trains nothing, and
    # reports success"
    assert updates(page, "two") == 5
    [training] = [block for block in page.results if "--distributed-rank $rank" in block]
    page.run("bash", "-euc", training.replace(" --distributed-no-spawn &", "").replace("toy/two", "toy/none"))
    assert not page.file("none").exists()

    # "Each process decodes every second batch, here 52 and 48 of the 100 sentences"
    shards = [outputs(page.read(f"shard.{number}")) for number in (0, 1)]
    assert [len(shard) for shard in shards] == [52, 48] and not shards[0].keys() & shards[1].keys()
    whole = page.run("fairseq-generate", *DRAFTED, "test", "--path", "toy/average.pt").out
    assert outputs(whole) == shards[0] | shards[1] and len(outputs(whole)) == 100
    # "a teacher's outputs replace the targets"
    assert page.file("distilled/distill.json").exists()


def noise(page: Page) -> None:
    # "writes one noisy line per input line" ... "text that no slip touches stays identical"
    first, second = page.printed("keyboard:2,swap:1").splitlines()
    assert "  " in first and [first, second] != ["The quick  brown fox", "jumps over the lazy dog."]
    # "This command prints ..."
    assert f"This command prints `{page.printed('--shift-rate 0.5').rstrip()}`:" in page.text
    # "The table has three columns"
    rows = [line.split("\t") for line in page.lines("confusions.tsv")]
    assert rows[0] == ["characters", "become", "rate"] and {len(row) for row in rows} == {3}
    assert len(page.lines("train.mistaken")) == 5000
    assert updates(page, "alone") == 20


def scoring(page: Page) -> None:
    # "The output begins like this; two lines on the difference between the systems follow"
    printed = page.printed("lev-plugins score errors")
    shown = page.shown("errors repaired = 0.7500")
    assert printed.startswith(shown) and len(printed[len(shown) :].splitlines()) == 2
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

    # "prints one object per line with the `text` and its `edits`"
    edited = [json.loads(line) for line in page.printed("--json --min-confidence 0.5").splitlines()]
    assert edited[0]["text"] == "b e  c" and edited[1]["edits"] == []
    assert [line.partition(" (")[0] for line in page.printed("print(edited.text").splitlines()] == ["b e  c", "b c d"]
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
    assert updates(page, "transformer") == 20 and updates(page, "hydra") == 5
    # "fairseq's own models also work with our tasks"
    state = checkpoints.load(page.file("transformer/checkpoint_last.pt"))["cfg"]
    assert state["model"]._name == "transformer_tiny" and state["task"]["_name"] == "text_correction"


def editing(page: Page) -> None:
    # "500 real triples and 4,500 synthetic ones become the two parts of a training set"; "`--upsample-primary 10`
    # repeats the real triples ten times per epoch."
    prepared = page.printed("--learn-sentencepiece 37")
    assert [re.findall(rf"^{part} +src +([\d,]+) ", prepared, re.M) for part in ("train", "train1")] == [
        ["500"],
        ["4,500"],
    ]
    # "`--list` prints the sets with their licences, and `--dry-run` what would be downloaded"
    listed = page.printed("lev-plugins data --list")
    assert re.search(r"^multi30k +for research +English and German captions", listed, re.M)
    assert listed.count(": from https://") >= 6 and not (page.checkout / "data").exists()

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
    assert "v7 v8" in marked and "v3" not in marked
    [edited] = [json.loads(line) for line in page.printed("--cpu --json < toy/mine.source").splitlines()]
    assert "v7 v8" in edited["text"]
    # "its translation is in the output"
    assert all(term in page.read("mine.edited") for term in ("Zürich", "v4 v5"))

    # "With `--keep-bias B`, an editor changes less"
    assert re.findall(r"^(-2|0|2): Generate valid .* TER = ", page.printed("for bias in"), re.M) == ["-2", "0", "2"]
    assert "BLEU4 = " in page.printed("test --oracle delete --cpu")

    # "`--bpe words` splits text into whole words ... `--clean-train` reads only the training targets."
    prepared = page.printed("--clean-train")
    numbers = [re.findall(rf"^train +{side} (.*)", prepared, re.M) for side in ("noisy", "draft", "clean")]
    assert numbers[0] == numbers[1] == numbers[2] and updates(page, "speller") == 40

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
    assert thresholds.keys() == common.keys() == {"w0", "w10", "w20"} and len(set(common.values())) == 1
    [answer] = map(json.loads, page.printed("--thresholds toy/thresholds.json").splitlines()[-1:])
    assert set(answer["labels"]) == {"w10", "w20"}
    assert "'labels': ['w20', 'w10']" in page.printed("import Labeller")

    if page.file("tagger-byt5").exists():  # with the extra [pretrained]
        assert updates(page, "tagger-byt5") == 3


def models(page: Page) -> None:
    config = json.loads(page.read("corrector/config.json"))
    assert config["decoding"]["keep_bias"] == 0.5 and "decoding      keep_bias: 0.5" in page.printed("lev-plugins info")
    assert "\nlicense: mit\n" in page.read("corrector/README.md")

    # "The weights and the chosen `--min-confidence` are in `config.json`"
    config = json.loads(page.read("sure/config.json"))
    assert len(config["calibration"]) > 5 and config["decoding"]["min_confidence"] is not None
    # "how many right words are broken": no more with a higher `--min-confidence`, and none of those that stay
    *_, curve, confidences = page.printed("lev-plugins sweep").split("\n\n")
    assert confidences.splitlines()[0].split() == ["at", "least", "edits", "claimed", "right"]
    changed = [float(line.split()[-1]) for line in curve.splitlines()[2:]]
    assert changed == sorted(changed, reverse=True)

    # "load neither torch nor fairseq"
    alone = "import lev_plugins, sys; print(lev_plugins.load('toy/light').edit(['w1 w2 w3'])[0].text)"
    assert page.run("python", "-c", f"{alone}; print('torch' in sys.modules)").out == "v1 v2 v3\nFalse\n"
    # "`toy/lev_plugins_en-0.2.0-py3-none-any.whl`"
    [name] = re.findall(r"`toy/(lev_plugins_en-\S+\.whl)`", page.text)
    assert any(member.endswith("/config.json") for member in zipfile.ZipFile(page.file(name)).namelist())
    assert page.printed("editor = lev_plugins.load") == "v1 v7 v11 v12\n"

    # "`--diff` prints each line with its edits"
    first, *rest = page.printed("--resume toy/edited.txt").splitlines()
    assert len(rest) == 2 and re.search(r"\[-.*-\]|\{\+.*\+\}", first)
    assert page.read("edited.txt").count("\n") == 100
    assert page.printed("LevT.from_pretrained") == "['v1 v2 v3']\n"


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
        # "a folder whose token ids follow fairseq's order"
        assert page.lines("byt5/dict.txt") and updates(page, "gated-t5") == updates(page, "reader") == 3


def serving(page: Page) -> None:
    answer = json.loads(page.read("edited.json"))
    assert answer["results"][0]["text"] == "v1 v7 v11 v12" and answer["model"] == "checkpoint_best"
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
