"""Correct words character by character, as in Table 2 of the PBD paper: see README.md."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.ocr_correction.report import ENSEMBLES, SYSTEMS
from examples.stages import Run, both, main
from lev_plugins.errors import require

NAME = re.compile(r"(transformer|pbd|levt)([24])(?:-(no-\w+|seed\d))?")
TESTED = ("valid", "test")


def architecture(run: Run, kind: str, depth: str, variant: str) -> str:
    """Flags of the model."""
    if kind == "pbd":
        ablation = f"--{variant}" if variant.startswith("no-") else ""
        hidden = "" if variant == "no-future" else f"--future-dropout {run.FUTURE_DROPOUT}"
        sizes = f"--layers {depth} --embed-dim {run.WIDTH} --ffn-embed-dim {run.FFN} --attention-heads 4"
        return f"--arch pbd {sizes} {ablation} {hidden}"
    sizes = f"{both('embed-dim', run.WIDTH)} {both('ffn-embed-dim', run.FFN)} {both('attention-heads', 4)}"
    return f"--arch {kind} {both('layers', depth)} {sizes}"


def learning(run: Run, kind: str, folder: Path) -> str:
    """Flags of the task, its loss and its validation."""
    if kind == "levt":
        return """--task text_editing --draft-lang draft --criterion dual_policy --eval-metrics exact_match
            --eval-bleu-args '{"iter_decode_max_iter": 9}'"""
    noise = f"""--noise-kind confusions --noise-confusions {folder}/confusions/table.tsv --noise-share {run.NOISE_SHARE}
        --noise-seed {run.SEED} --bpe chars"""
    return f"""--task text_correction --criterion label_smoothed_cross_entropy --eval-exact-match
        --eval-bleu-args '{{"beam": 1, "max_len_a": 1, "max_len_b": 20}}' {"" if run.NOISE_SHARE == "0" else noise}"""


def texts(run: Run, fold: str) -> None:
    """Text, data, confusions and SymSpell's output of one fold."""
    folder = run.out / fold
    thin = "--by-type" if run.BY_TYPE else ""
    read = f"python {run.here}/texts.py {run.DATA}/{fold} {folder}/texts --words {run.WORDS} {thin}"
    run.stage(f"{fold}/texts", "", read)
    run.stage(
        f"{fold}/data",
        f"{fold}/texts",
        f"""lev-plugins prepare -s src -d draft -t tgt --train-prefix {folder}/texts/train --valid-prefix
            {folder}/texts/valid --test-prefix {folder}/texts/test --joined-dictionary --dest {folder}/data/data""",
    )
    words = f"{folder}/texts/train.words"
    if run.NOISE_SHARE != "0":
        confusions = f"lev-plugins confusions {words}.src {words}.tgt >{folder}/confusions/table.tsv"
        run.stage(f"{fold}/confusions", f"{fold}/texts", confusions)
    if run.speller:  # on words without the blanks between their characters
        symspell = f"python {run.examples}/denoising/symspell.py --words {words}.tgt"
        joined = (
            f"tr -d ' ' <{folder}/texts/{split}.src | {symspell} >{folder}/symspell/{split}.out" for split in TESTED
        )
        run.stage(f"{fold}/symspell", f"{fold}/texts", *joined)


def decode(run: Run, folder: Path, name: str, models: dict[str, str]) -> list[str]:
    """dev and test, by the best checkpoint and by the average of the best ones."""
    search = f"--task text_correction --beam {run.BEAM} --max-len-a 1 --max-len-b 20"
    if name.startswith("levt"):
        search = "--task text_editing --draft-lang draft --iter-decode-max-iter 9"
    return [
        f"""{run.generate} {folder}/data/data -s src -t tgt {search} --max-tokens 4000 --path {model} --gen-subset
            {split} >{folder}/{name}-test/{split}.{which}"""
        for which, model in models.items()
        for split in TESTED
    ]


def system(run: Run, fold: str, name: str) -> None:
    """Trains and tests one model: runs/ocr/fold0/pbd2-no-future is PBD with 2 layers on fold 0."""
    match = NAME.fullmatch(name)
    assert match is not None
    kind, depth, variant = match[1], match[2], match[3] or ""
    folder = run.out / fold
    model = folder / name
    total = f"--total-num-update {run.UPDATES}" if run.SCHEDULE == "polynomial_decay" else ""
    run.training(
        f"{fold}/{name}",
        f"{fold}/data" + ("" if run.NOISE_SHARE == "0" or kind == "levt" else f" {fold}/confusions"),
        f"""{run.train} {folder}/data/data -s src -t tgt --save-dir {model} {architecture(run, kind, depth, variant)}
            {learning(run, kind, folder)} --share-all-embeddings --dropout {run.DROPOUT} --attention-dropout 0
            --label-smoothing 0.1 --lr {run.LR} --lr-scheduler {run.SCHEDULE} --warmup-updates {run.WARMUP} {total}
            --max-update {run.UPDATES} --clip-norm 1 --max-tokens {run.TOKENS} --required-batch-size-multiple 1
            --best-checkpoint-metric exact_match --maximize-best-checkpoint-metric --no-epoch-checkpoints
            --keep-best-checkpoints {run.AVERAGE} --log-interval 100
            --seed {variant.removeprefix("seed") if variant.startswith("seed") else run.SEED} {run.TRAIN_FLAGS}""",
    )
    average = f"{model}-test/average.pt"
    run.stage(
        f"{fold}/{name}-test",
        f"{fold}/{name}",
        # all of the best: fairseq may give checkpoints of equal score the same name
        f"lev-plugins average {model} --best $(ls {model}/checkpoint.best_*.pt | wc -l) --output {average}",
        *decode(run, folder, name, {"best": f"{model}/checkpoint_best.pt", "average": average}),
    )


def plan(run: Run) -> None:
    run.begin("DATA OUT", "FOLDS ONLY SYMSPELL THREADS")
    names = run.parts("ONLY") or list(SYSTEMS)
    unknown = [name for name in names if name not in SYSTEMS]
    require(not unknown, f"ONLY has unknown systems: {', '.join(unknown)}; choose from {', '.join(SYSTEMS)}")
    together = {name: ENSEMBLES[name][1] for name in names if name in ENSEMBLES}
    single = dict.fromkeys([*(name for name in names if name not in together), *sum(together.values(), ())])
    taken = f"pbd2-seed{run.SEED}"
    require(
        taken not in single, f"SEED={run.SEED} is that of {taken}: take another SEED, or leave this system out of ONLY"
    )
    for fold in (f"fold{number}" for number in run.parts("FOLDS")):
        texts(run, fold)
        for name in single:
            system(run, fold, name)
        for name, members in together.items():
            folders = [run.out / fold / member for member in members]
            models = {"best": "checkpoint_best.pt", "average": "average.pt"}
            joined = {
                which: ":".join(f"{folder}{'-test' if which == 'average' else ''}/{file}" for folder in folders)
                for which, file in models.items()
            }
            after = " ".join(f"{fold}/{member}-test" for member in members)
            run.stage(f"{fold}/{name}-test", after, *decode(run, run.out / fold, name, joined))
    run.show("report.md", f"python {run.here}/report.py {run.out}")


if __name__ == "__main__":
    sys.exit(main(__file__, "report", plan, lambda run: {"ocr-finnish": run.DATA}))
