"""The papers' own experiments as the pages print them, from excerpts in the formats of the published files to a report.

The texts are invented, the models are tiny and see two updates; all other flags are those of the experiments.
"""

import json
import random
import re
import shlex
from pathlib import Path

import pytest

from lev_plugins.published.sets import read_sets
from tests import pretrained
from tests.commands import readme_commands, succeed, two_ranks
from tests.examples import load_script
from tests.published import publish
from tests.unit.test_example_makefiles import planned

SETS = read_sets()
WORDS = ["The", "Council's", "“new”", "fish", "(27", "%)", "swim;", "it's", "3.5", "UNK", "Größe", "—", "U.S.", "##"]
GLUE_COLUMNS = {"MNLI": 12, "QQP": 6, "QNLI": 4, "RTE": 4, "SST-2": 2, "STS-B": 10}  # the last one has the label
TINY = ["GPUS=0", "THREADS=1", "LAYERS=1", "WIDTH=16", "FFN=32", "HEADS=2"]
TRANSLATION = [*TINY, "VOCAB=75", "TEACHER_UPDATES=2", "LEVT_UPDATES=2"]
POST_EDITING = [*TINY, "VOCAB=45", "UPDATES=2", "FINETUNE_UPDATES=2", "GAMMAS=1", "KEEP_BIASES="]
DENOISING = ["GPUS=0", "THREADS=1", "SEEDS=1", "TRAIN_FLAGS=--max-update 2"]
LABELLING = ["GPUS=0", "THREADS=1", "BATCH=8", "FLAGS=--max-update 2"]


def sentences(path: str) -> list[str]:
    """As many in files that belong together, with one that is empty."""
    draw = random.Random(Path(path).name)
    found = [" ".join(draw.choices(WORDS, k=draw.randint(3, 8))) for _ in range(40 if "train" in path else 8)]
    return [*found, ""]


def labelled(path: str) -> list[list[str]]:
    """Rows of GLUE."""
    name, draw = Path(path).parent.name, random.Random(path)
    labels = {"MNLI": ["entailment", "neutral", "contradiction"], "STS-B": ["0.000", "3.800", "5.000"]}
    rows = []
    for number, text in enumerate(sentences(path)[:-1]):
        label = draw.choice(labels.get(name, ["0", "1"]))
        if "msr_paraphrase" in path:
            rows.append([label, f"{number}", f"{number + 1}", text, text])
        elif name == "CoLA":
            rows.append(["gj04", label, "*" * (label == "0"), text])
        else:
            rows.append([*[text] * (GLUE_COLUMNS[name] - 1), label])
    return rows


def excerpt(conversion: str, path: str) -> str:
    """A file as it is published."""
    lines = sentences(path)
    if path.endswith("dev_ids.tsv"):
        lines = ["#1 ID\t#2 ID", *(f"{number}\t{number + 1}" for number in range(0, 40, 5))]
    elif conversion in ("headed_columns", "columns", "mrpc"):
        rows = labelled(path)
        head = [] if conversion == "columns" else [[f"column{number}" for number in range(len(rows[0]))]]
        lines = ["\t".join(row) for row in [*head, *rows]]
    elif path.endswith(".tagged"):
        lines = [f"<t> {line} </t> <t> {line} </t>" if line else "" for line in lines]
    elif conversion == "segments":
        lines = ["<doc>", *(f'<seg id="{number}">{line}</seg>' for number, line in enumerate(lines[:-1], 1)), "</doc>"]
    elif conversion == "tables":
        lines = ["id,text", *(f'{number},"{line},\n{line}"' for number, line in enumerate(sentences("train")))]
    elif conversion == "scans":
        clean = lines[0]
        lines = [f"[OCR_toInput] {clean}", f"[OCR_aligned] {clean.replace('e', 'c')}", f"[ GS_aligned] {clean}"]
    elif conversion == "reviews":
        lines = ["<br /><br />".join(lines[:3])]
    elif conversion in ("laws", "concepts"):
        law = {"celex_id": "1", "title": lines[0], "header": lines[0], "recitals": lines[1], "main_body": lines[1:4]}
        lines = [
            json.dumps({**law, "attachments": "", "concepts": random.Random(path).sample(["192", "2356", "7"], 2)})
        ]
    return "".join(f"{line}\n" for line in lines)


def walked(command: list[str], folder: Path, page: str) -> str:
    """The page that the command ends with; every training has seen two updates."""
    out = folder / "run"
    done = succeed(*command, f"OUT={out}", timeout=900).out
    logs = [log.read_text("utf-8") for log in out.rglob("log")]
    updates = [max(map(int, re.findall(r"num_updates (\d+)", log))) for log in logs if "Start iterating" in log]
    assert updates and {*updates} == {2}
    text = (out / page).read_text("utf-8")
    assert done.endswith(text)
    return text


def printed(example: str, name: str, **values: object) -> list[str]:
    """The command of the pages whose output goes to runs/NAME, with other values."""
    command = next(words for words in readme_commands(example) if f"OUT=runs/{name}" in words)
    kept = [word for word in command if word.partition("=")[0] not in {"OUT", *values}]
    return [*kept, *(f"{key}={value}" for key, value in values.items())]


def fetched(name: str, folder: Path, documents: int = 1) -> Path:
    given = publish(SETS[name], folder / "given", excerpt, documents)
    succeed("lev-plugins", "data", name, folder / name, "--from", given, XDG_CACHE_HOME=str(folder / "cache"))
    return folder / name


@pytest.mark.parametrize(
    ("run", "name", "score", "peers"),
    [("wmt14-en-de", "wmt14-en-de", "BLEU", ["it", "maskt"]), ("gigaword", "gigaword", "ROUGE", [])],
)
def test_translation(run: str, name: str, score: str, peers: list[str], tmp_path: Path) -> None:
    command = [*printed("translation", run, TEXT=fetched(name, tmp_path)), *TRANSLATION, f"PEERS={','.join(peers)}"]
    text = walked(command, tmp_path, "report.md")
    assert score in text and re.search(r"^\| LevT, distilled data \| [\d.]+ ", text, re.M)
    for trained in ("levt", *peers):
        log = (tmp_path / "run" / trained / "log").read_text("utf-8")
        used = re.findall(r"\b(encoder_learned_pos|decoder_learned_pos|apply_bert_init)'?(?:=|: )True", log)
        assert "'weight_decay': 0.01" in log and len({*used}) == 3


def test_post_editing_of_wmt17(tmp_path: Path) -> None:
    for prefix in ("500K", "4M"):
        for side in ("src", "mt", "pe"):
            (tmp_path / f"{prefix}.{side}").write_text(
                excerpt("pairs", "train").replace("\n\n", "\n"), encoding="utf-8"
            )
    folders = {"TEXT": fetched("wmt17-ape", tmp_path), "SYNTHETIC": tmp_path / "500K", "PARALLEL": tmp_path / "4M"}
    text = walked([*printed("post_editing", "wmt17", **folders), *POST_EDITING], tmp_path, "report.md")
    assert "not yet run" not in text


@pytest.mark.parametrize(
    ("run", "name", "settings"),
    [
        ("imdb", "imdb", ["NOISES=swap-both", "SYSTEMS=MCG"]),
        ("wmt14", "news-commentary", ["NOISES=keyboard", "SYSTEMS=MG"]),
        ("cnn", "cnn-dailymail", ["NOISES=random", "SYSTEMS=CG"]),
        ("icdar", "icdar", ["SYSTEMS=none"]),
        ("alta", "alta2017", ["SYSTEMS=all"]),
    ],
)
def test_denoising(run: str, name: str, settings: list[str], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pretrained.t5(tmp_path / "model")
    backbone = pretrained.imported(tmp_path / "model", tmp_path / "t5")
    chosen = dict(setting.split("=") for setting in settings)
    command = printed("denoising", run, TEXT=fetched(name, tmp_path, 40), BACKBONE=backbone, **chosen)
    text = walked([*command, *DENOISING], tmp_path, "report.md")
    assert re.search(r"^\| [^|]+ \| [\d.]+ \| [\d.]+ \| 1 \|", text, re.M)  # one seed


@pytest.mark.parametrize(
    ("name", "tasks", "titles"),
    [
        ("glue", "mnli,mrpc", ["mnli/valid", "mnli/mismatched", "mrpc/valid"]),
        ("glue", "stsb", ["stsb/valid"]),
        ("eurlex57k", "", ["eurlex/test"] * 9),  # the scores of Table 2
    ],
)
def test_labelling(name: str, tasks: str, titles: list[str], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pretrained.t5(tmp_path / "model", tied=False)
    make = ["make", "-f", "examples/labelling/paper.mk", f"SET={name}", f"TEXT={tmp_path}/data"]
    given = publish(SETS[name], tmp_path / "given", excerpt, 16)
    succeed(*make, "data", f"FROM={given}", XDG_CACHE_HOME=str(tmp_path / "cache"))
    command = [*make, f"ONLY={tasks}", f"MODEL={tmp_path / 'model'}", *LABELLING]
    text = walked(command, tmp_path, f"{name}.md")
    rows = re.findall(r"^\| (\S+) \| (\w+) \| ([\d.-]+) \| ([\d.-]+) \|$", text, re.M)
    assert [title for title, *_ in rows] == titles and ("mean of 3" in text) == (len({*titles}) == 3)
    if name == "eurlex57k":  # no label has more than 50 texts in the excerpt; T5 only names labels
        scored = {score for _, score, enct5, _ in rows if enct5 != "-"}
        assert scored == {"rp_at_5", "ndcg_at_5", "micro_f1", "few_rp_at_5", "few_ndcg_at_5"}
        assert [score for _, score, _, t5 in rows if t5 != "-"] == ["micro_f1"]
    if "mrpc" in tasks:
        written = tmp_path / "run" / "mrpc" / "t5-data" / "train.tgt"
        assert {*written.read_text("utf-8").splitlines()} == {"equivalent", "not_equivalent"}
    task = tmp_path / "run" / titles[0].partition("/")[0]
    assert re.findall(rf"^\| {task.name} \| \w+ \| [\d.]+ \| (\d+) \|", text, re.M) == ["8", "8"]  # texts per update
    assert (task / "t5-choice" / "best").read_text("utf-8") == "checkpoint_last\n"
    # with two GPUs, and here two processes, an update has as many
    settings = [f"SET={name}", f"TEXT={tmp_path}/data", f"MODEL={tmp_path / 'model'}", f"ONLY={tasks}"]
    plan = planned("labelling/paper", *settings, *LABELLING, "GPUS=2", f"OUT={tmp_path}/two")
    (tmp_path / "two").symlink_to(tmp_path / "run")
    for model in ("enct5", "t5"):
        command = shlex.split(plan[f"{task.name}/{model}"].replace("--bf16", "--cpu"))
        first, _ = two_ranks(
            lambda *ranks, words=command: [*words, *ranks, "--save-dir", tmp_path / "none", "--no-save"]
        )
        assert load_script("labelling/paper/report").texts_per_update(first.both) == "8"


TREE = "".join(
    f"{number}\t{word}\t_\t{tag}" + "\t_" * 6 + "\n" for number, word, tag in ((1, "The", "DET"), (2, "sea", "NOUN"))
)


@pytest.mark.parametrize(
    ("name", "titles"), [("glue", ["mrpc/valid", "stsb/valid"]), ("udpos", ["udpos/de", "udpos/en"])]
)
def test_labelling_with_a_bert(name: str, titles: list[str], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pretrained.bert(tmp_path / "model")
    if name == "glue":
        given = publish(SETS[name], tmp_path / "given", excerpt)
        data = ["make", "-f", "examples/labelling/paper.mk", "data", "SET=glue", f"TEXT={tmp_path}/data"]
        succeed(*data, f"FROM={given}", XDG_CACHE_HOME=str(tmp_path / "cache"))
    else:
        (tmp_path / "data" / "udpos" / "tests").mkdir(parents=True)
        for file in ("train", "valid", "tests/de", "tests/en"):
            (tmp_path / "data" / "udpos" / f"{file}.conllu").write_text(f"{TREE}\n" * 20, encoding="utf-8")
    settings = {"TEXT": tmp_path / "data", "MODEL": tmp_path / "model", "ONLY": "mrpc,stsb" if name == "glue" else ""}
    text = walked([*printed("labelling", f"{name}-bert", **settings), *LABELLING], tmp_path, f"{name}.md")
    assert "| | score | BERT |\n" in text and "T5" not in text
    assert re.findall(r"^\| (\S+/\S+) \| \w+ \| [\d.-]+ \|$", text, re.M) == titles
    log = (tmp_path / "run" / titles[0].partition("/")[0] / "enct5" / "log").read_text("utf-8")
    updates = {"glue": 3 * 4, "udpos": 10 * 3}[name]  # epochs of 32 and 20 texts, 8 a batch
    assert f"'total_num_update': {updates}.0" in log and f"'warmup_updates': {updates // 10}" in log
