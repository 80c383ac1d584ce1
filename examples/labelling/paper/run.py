"""The paper's sets and settings: EncT5 on a T5, beside T5 writing the labels as text; or a BERT: see ../README.md."""

import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from examples.stages import Run, falling, main
from lev_plugins.errors import require
from lev_plugins.text.pretrained import positions_of_bert

SOURCE = "--truncate-source --max-source-positions 512"
ADAFACTOR = "--optimizer adafactor --scale-parameter --lr 0.001 --max-update 100000"  # of both models
# of a BERT, as in its own code; its rate falls to zero (BERT's paper, section 4.1)
ADAM = "--optimizer adam --adam-betas '(0.9,0.999)' --adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1"
GROUPS = ("frequent", "few", "zero")  # labels by how often the training text has them
RANKS = ("rp_at_5", "ndcg_at_5")
TABLE_2 = (*RANKS, "micro_f1", *(f"{group}_{rank}" for group in GROUPS for rank in RANKS))


class Task(NamedTuple):
    name: str
    kind: str = "classification"
    metric: str = "accuracy"
    report: tuple[str, ...] = ()  # scores of the report; empty: the metric
    columns: tuple[str, ...] = ()  # names of the texts in the text that a T5 reads; empty: it reads the text alone
    words: str = ""  # that T5 writes for the labels 0 and 1
    labels: str = "--longer cut"  # more flags of prepare-labels, for EncT5 alone
    enct5_kind: str = ""  # if it is another kind to EncT5 than to T5
    tests: tuple[str, ...] = ()  # files, beside valid
    suffix: str = "tsv"
    at_once: int = 128  # most texts on a GPU at once: of more per update, the gradients are added up
    longest_target: int = 84  # maximum tokens that T5 learns to write, and writes; </s> included


def template(task: Task) -> str:
    """The text that a T5 reads. T5's own code (t5/data/preprocessors.py: glue) sorts the names of the columns.

    >>> template(Task("mnli", columns=("premise", "hypothesis"))), template(Task("eurlex"))
    ('mnli hypothesis: {1} premise: {0}', '')
    """
    parts = [f"{name}: {{{task.columns.index(name)}}}" for name in sorted(task.columns)]
    return " ".join([task.name, *parts]) if parts else ""


def layout(task: Task, template: str) -> str:
    """Flags of prepare-labels and of text_to_text.py. Without a template, a BERT reads two columns as two sides."""
    columns = f"--text-columns {len(task.columns)}" if len(task.columns) > 1 else ""
    return f"{columns} --template '{template}'" if template else columns


def glue(run: Run) -> list[Task]:
    """Table 1: GLUE with T5 1.1 (Algorithm 1), beside T5 writing the labels; or with a BERT.

    TEXT=DIR has what the goal data fetches: a folder per task with train.tsv and valid.tsv (the texts, then the label,
    separated by TABs, no header); mnli has mismatched.tsv, too.
    STS-B has 26 classes, 0.0, 0.2, ... 5.0; STSB=number is a regression instead
    (the paper says "bucketized", and of SST-2). Texts are cut off at 512 tokens, as in the paper. Table 4, a decoder
    of 12 blocks, from scratch or T5's own: ENCT5_FLAGS="--decoder-layers 12", or ENCT5_FLAGS="--decoder-layers 12
    --decoder-init backbone"."""
    classes = run.STSB == "classes"
    rounded = "--longer cut --round-labels 0.2" if classes else "--longer cut"
    sentences, sentence = ("sentence1", "sentence2"), ("sentence",)
    stsb = "classification" if classes else ""
    return [
        Task("mnli", columns=("premise", "hypothesis"), tests=("mismatched",)),
        Task("qqp", metric="f1", columns=("question1", "question2"), words="not_duplicate duplicate"),
        Task("qnli", columns=("question", "sentence")),
        Task("mrpc", metric="f1", columns=sentences, words="not_equivalent equivalent"),
        Task("rte", columns=sentences),
        Task("sst2", columns=sentence, words="negative positive"),
        Task("cola", metric="matthews", columns=sentence, words="unacceptable acceptable"),
        Task("stsb", "regression", "spearman", columns=sentences, labels=rounded, enct5_kind=stsb),
    ]


def eurlex57k(run: Run) -> list[Task]:
    """Table 2: EURLEX57K with T5 1.1 (Algorithm 2, one latent per label).

    TEXT=DIR has what the goal data fetches: eurlex/{train,valid,test}.tsv (header, recitals and main body as one text,
    TAB, labels separated by commas) and eurlex/labels.txt with all 4,271 labels. Documents are cut off at 512 tokens,
    as in the paper. Not enough memory for one latent per label? Add ENCT5_FLAGS="--latents one".
    """
    labels = f"--labels {run.TEXT}/eurlex/labels.txt --longer cut"
    return [
        Task("eurlex", "multilabel", "micro_f1", TABLE_2, labels=labels, tests=("test",), at_once=16, longest_target=64)
    ]


def udpos(run: Run) -> list[Task]:
    """Table 3: UDPOS with mT5 (Algorithm 3): trained on English, tested on 33 languages.

    TEXT=DIR has udpos/{train,valid}.conllu of English, and the tests LANGUAGE.conllu in udpos/tests.
    """
    folder = Path(run.TEXT) / "udpos"
    tests = tuple(f"tests/{path.stem}" for path in sorted((folder / "tests").glob("*.conllu")))
    require(bool(tests), f"there are no files {folder}/tests/LANGUAGE.conllu")
    return [Task("udpos", "tagging", "tag_accuracy", labels="", tests=tests, suffix="conllu", longest_target=1000)]


def batches(run: Run, task: Task) -> str:
    """The same number of texts per update for both models, whatever the number of GPUs; neither packs its texts."""
    batch, gpus = run.number("BATCH"), run.gpus or 1
    require(batch % gpus == 0, f"BATCH must be a multiple of the {gpus} GPUs, but is {batch}")
    mine = batch // gpus
    once = max(size for size in range(1, min(mine, task.at_once) + 1) if mine % size == 0)
    return f"--batch-size {once} --update-freq {mine // once} --required-batch-size-multiple 1"


def train_enct5(run: Run, task: Task, parts: dict[str, str], training: str, backbone: str, bert: bool) -> None:
    out, name = run.out / task.name, task.name
    question = f"--label-kind {task.enct5_kind or task.kind}"
    rate = ADAFACTOR
    commands = []
    if bert:
        number = f"python {run.here}/updates.py {out}/labels/bin --epochs {run.EPOCHS} --batch {run.BATCH}"
        commands = [f"updates=$({number})", "warmup=$((updates / 10))"]
        rate = f"{ADAM} {falling('2e-5', '$warmup', '$updates')}"
    tests = " ".join(file for part, file in parts.items() if part.startswith("test"))
    run.stage(
        f"{name}/labels",
        "backbone",
        f"""lev-plugins prepare-labels {question} --train {parts["train"]} --valid {parts["valid"]}
            {f"--test {tests}" if tests else ""} --pretrained-tokenizer {backbone} --dest {out}/labels/bin
            {layout(task, "" if bert else template(task))} {task.labels}""",
    )
    run.training(
        f"{name}/enct5",
        f"{name}/labels",
        *commands,
        f"""{run.trainer} {out}/labels/bin {rate} {training} --save-dir {out}/enct5 --task text_labelling {question}
            --arch enct5 --backbone {backbone} --criterion labelling --best-checkpoint-metric {task.metric}
            --maximize-best-checkpoint-metric --keep-interval-updates 1 {run.FLAGS} {run.ENCT5_FLAGS}""",
    )
    checkpoint, test = f"{out}/enct5/checkpoint_best.pt", f"{out}/enct5-test"
    score = f"{run.threads} python {run.examples}/score.py {checkpoint} {run.device}"
    commands = [f"{score} --part {part} --output {test}/{part}.json" for part in parts if part != "train"]
    run.stage(f"{name}/enct5-test", f"{name}/enct5", *commands)


def train_t5(run: Run, task: Task, parts: dict[str, str], training: str, backbone: str) -> None:
    """The baseline, which writes the labels as text."""
    out, name = run.out / task.name, task.name
    folder, pieces = out / "t5-data", out / "t5-data" / "pieces"
    words = f"--label-words {task.words}" if task.words else ""
    flags = f"--label-kind {task.kind} {layout(task, template(task))} {words}"

    def as_text(part: str, prefix: Path) -> str:
        return f"python {run.examples}/text_to_text.py {parts[part]} {flags} --output {prefix}/{part}"

    def tested(part: str, checkpoint: str, prefix: str) -> list[str]:
        """Writes PREFIX.scores.json."""
        scored = f"""python {run.examples}/text_to_text.py {parts[part]} {flags} --generated {prefix}.generated
            --output {prefix}"""
        return [
            f"""{run.generate} {folder}/bin --task text_correction --gen-subset {part} --beam 1 --max-len-b
                {task.longest_target} --path {checkpoint} {SOURCE} --bpe pretrained --pretrained-tokenizer {backbone}
                --batch-size {task.at_once} >{prefix}.generated""",
            scored,
        ]

    commands = []
    for part in parts:
        files = f"{folder}/{part}.src {folder}/{part}.tgt"
        commands += [as_text(part, folder), f"lev-plugins encode {backbone} {files} --into {folder}/whole"]
        commands += [
            f"cp {folder}/whole/{part}.src {pieces}",
            f"cut -d ' ' -f 1-{task.longest_target - 1} {folder}/whole/{part}.tgt >{pieces}/{part}.tgt",
        ]
    tests = ",".join(f"{pieces}/{part}" for part in parts if part.startswith("test"))
    run.stage(
        f"{name}/t5-data",
        "backbone",
        f"mkdir -p {pieces}",
        *commands,
        f"""fairseq-preprocess -s src -t tgt --trainpref {pieces}/train --validpref {pieces}/valid
            {f"--testpref {tests}" if tests else ""} --joined-dictionary --srcdict {backbone}/dict.txt --destdir
            {folder}/bin""",
    )
    run.training(
        f"{name}/t5",
        f"{name}/t5-data",
        f"""{run.trainer} {folder}/bin {ADAFACTOR} {training} --save-dir {out}/t5 --task text_correction --arch gated_t5
            --gates '' --backbone {backbone} --criterion cross_entropy {SOURCE}
            --max-target-positions {task.longest_target} {run.FLAGS}""",
    )
    choice = out / "t5-choice"  # as of EncT5, the checkpoint with the best score on the validation set
    run.stage(
        f"{name}/t5-choice",
        f"{name}/t5",
        # at the end of an epoch, fairseq writes no checkpoint of an update, so the last may have no other name
        f"for each in $(ls {out}/t5/checkpoint_[0-9]*.pt {out}/t5/checkpoint_last.pt 2>/dev/null); do",
        *tested("valid", "$each", f"{choice}/$(basename $each .pt)"),
        "done",
        f"python {run.here}/best.py {task.metric} {choice}/*.scores.json >{choice}/best",
    )
    checkpoint = f"{out}/t5/$(cat {choice}/best).pt"
    commands = [
        command for part in parts if part != "train" for command in tested(part, checkpoint, f"{out}/t5-test/{part}")
    ]
    run.stage(f"{name}/t5-test", f"{name}/t5-choice", *commands)


def plan(run: Run) -> None:
    run.begin("SET TEXT MODEL OUT", "ONLY THREADS")
    sets = {"glue": glue, "eurlex57k": eurlex57k, "udpos": udpos}
    require(run.SET in sets, f"there is no set {run.SET}: choose from {', '.join(sets)}")
    tasks = {task.name: task for task in sets[run.SET](run)}
    chosen = run.parts("ONLY") or list(tasks)
    require({*chosen} <= tasks.keys(), f"ONLY must be some of {', '.join(tasks)}, but is {run.ONLY}")
    backbone = f"{run.out}/backbone/data"
    run.stage("backbone", "", f"lev-plugins import-pretrained {run.MODEL} {backbone}")
    bert = positions_of_bert(run.MODEL) is not None
    training = f"""--dropout 0.1 {"" if run.device else "--bf16"} --no-epoch-checkpoints --validate-interval 1000000
        --validate-interval-updates {run.VALID_EVERY} --save-interval-updates {run.VALID_EVERY}"""
    rows = []
    for name in chosen:
        task = tasks[name]
        # fairseq's names of the tests: test, test1, test2, ...
        files = {"train": "train", "valid": "valid"}
        files |= {f"test{number or ''}": file for number, file in enumerate(task.tests)}
        parts = {part: f"{run.TEXT}/{name}/{file}.{task.suffix}" for part, file in files.items()}
        train_enct5(run, task, parts, f"{training} {batches(run, task)}", backbone, bert)
        if not bert:
            train_t5(run, task, parts, f"{training} {batches(run, task)}", backbone)
        scored = [part for part in parts if part.startswith("test") or (run.SET == "glue" and part == "valid")]
        rows += [
            f"{name}/{Path(files[part]).name}={name}/{part}:{metric}"
            for part in scored
            for metric in task.report or (task.metric,)
        ]
    report = f"python {run.here}/report.py {run.out} {' '.join(rows)} {'--bert' if bert else ''}"
    run.show(f"{run.SET}.md", f"{report} >{run.out}/{run.SET}.md")


def published(run: Run) -> dict[str, str]:
    folders = {"glue": run.TEXT or "data/glue", "eurlex57k": f"{run.TEXT or 'data'}/eurlex"}
    return {run.SET: folders[run.SET]} if run.SET in folders else {}


if __name__ == "__main__":
    sys.exit(main(__file__, "report", plan, published))
