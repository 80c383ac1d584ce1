"""EncT5 at a small size: classes, pairs, label sets and tags, compared with simple baselines: see README.md."""

import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.stages import Run, falling, main
from lev_plugins.errors import require


class Task(NamedTuple):
    published: str  # name of the set
    text: str  # folder and flags of texts.py: the published validation set is the test
    kind: str
    metric: str
    layout: str = ""  # more flags of prepare-labels


RATED = "ape-mlqe/en-de --rated --test valid"
TASKS = {
    "sst2": Task("sst2", "cls-sst2 --test valid", "classification", "accuracy"),
    "mrpc": Task("mrpc", "pair-mrpc --test dev", "classification", "f1", "--text-columns 2"),
    "emotions": Task(
        "goemotions", "multilabel-goemotions --test dev", "multilabel", "micro_f1", "--numbered-labels --labels"
    ),
    "pos": Task("ud-ewt", "pos-ud-ewt --test dev", "tagging", "tag_accuracy"),
    "hter": Task("mlqe-pe", RATED, "regression", "pearson", "--text-columns 2"),
    "hter21": Task("mlqe-pe", RATED, "classification", "pearson", "--text-columns 2 --round-labels 0.05"),
}


def variants(run: Run, name: str) -> dict[str, tuple[str, str, str]]:
    """The models of a task: how its text is split, updates, and flags of fairseq-train."""
    sizes = f"""--embed-dim {run.WIDTH} --ffn-embed-dim {run.FFN} --layers {run.LAYERS} --attention-heads 4
        --head-dim {run.number("WIDTH") // 4}"""
    small, more = "", run.UPDATES
    if name == "pos":  # tags of words that spell are learned from small batches, and more of them
        small, more = "--lr 0.0015 --max-tokens 1500", str(run.number("UPDATES") * 5 // 3)
    models = {"": ("data", run.UPDATES, sizes)}
    if name == "emotions":
        models["_one"] = ("data", run.UPDATES, f"{sizes} --latents one")
    models["_spelled"] = ("words", more, f"{sizes} --spelling {small} {run.SPELLED_FLAGS}")
    if run.BACKBONE:
        start = f"--backbone {run.BACKBONE} --optimizer scaled_adam --backbone-lr-factor 0.1"
        models["_pretrained"] = ("backbone", run.BACKBONE_UPDATES, f"{start} {run.BACKBONE_FLAGS}")
    chosen = {"plain": [""], "pretrained": ["_pretrained"]}.get(run.goal, list(models))
    return {variant: models[variant] for variant in chosen}


def sets(run: Run) -> dict[str, str]:
    tasks = [TASKS[name] for name in run.parts("TASKS") if name in TASKS]
    return {task.published: f"{run.DATA}/{task.text.partition(' ')[0]}" for task in tasks}


def plan(run: Run) -> None:
    # a backbone can be added later, and left out, but not exchanged
    run.begin("DATA OUT", "TASKS THREADS" + ("" if run.BACKBONE else " BACKBONE"))
    require(
        run.goal != "pretrained" or bool(run.BACKBONE), "pretrained needs BACKBONE: the folder of a pre-trained model"
    )
    unknown = [name for name in run.parts("TASKS") if name not in TASKS]
    require(not unknown, f"TASKS has unknown tasks: {', '.join(unknown)}; choose from {', '.join(TASKS)}")
    for name in run.parts("TASKS"):
        task, texts = TASKS[name], run.out / f"texts_{name}"
        layout = task.layout + (f" {run.DATA}/multilabel-goemotions/labels.txt" if name == "emotions" else "")
        question = f"--label-kind {task.kind}"
        read = f"python {run.here}/texts.py {run.DATA}/{task.text} --lines {run.LINES} --output {texts}"
        run.stage(f"texts_{name}", "", read)
        splits = {
            "data": f"--learn-sentencepiece {run.VOCAB}",
            "words": "" if name == "pos" else "--bpe words",  # tagged text is in words already
            "backbone": f"--pretrained-tokenizer {run.BACKBONE}",
        }
        for variant, (split, updates, flags) in variants(run, name).items():
            data, trained = f"{split}_{name}", f"train_{name}{variant}"
            run.stage(
                data,
                f"texts_{name}",
                f"""lev-plugins prepare-labels {question} {layout} --train {texts}/train.tsv --valid {texts}/valid.tsv
                    --test {texts}/test.tsv {splits[split]} --dest {run.out}/{data}/data""",
            )
            run.training(
                trained,
                data,
                f"""{run.train} {run.out}/{data}/data --save-dir {run.out}/{trained} --task text_labelling {question}
                    --arch enct5 --criterion labelling {"--pack" if run.PACK else ""} --decoder-layers 1 --dropout 0.1
                    --clip-norm 1 --max-tokens {run.TOKENS} {falling(run.LR, run.WARMUP, updates)}
                    --best-checkpoint-metric {task.metric} --maximize-best-checkpoint-metric {run.every}
                    --log-interval 50 --seed {run.SEED} {run.TRAIN_FLAGS} {flags}""",
            )
            test, checkpoint = f"test_{name}{variant}", f"{run.out}/{trained}/checkpoint_best.pt"
            score = f"{run.threads} python {run.here}/score.py {checkpoint} --output {run.out}/{test}/scores.json"
            run.stage(test, trained, f"{score} {run.device}")
        if run.goal != "pretrained":
            baselines = f"{run.threads} python {run.here}/baselines.py {texts} {question} {layout}"
            run.stage(
                f"baselines_{name}", f"texts_{name}", f"{baselines} --output {run.out}/baselines_{name}/scores.json"
            )
    run.show("report.md", f"python {run.here}/report.py {run.out}")


if __name__ == "__main__":
    sys.exit(main(__file__, "report plain pretrained", plan, sets))
