"""Post-editing as in section 4.2 of the LevT paper: see README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.stages import Run, both, falling, main
from lev_plugins.errors import require

EDITORS = ("scratch", "zero_shot", "finetuned", "translator")  # the last is given no draft
ORACLES = {"": "", "_delete": "--oracle delete", "_both": "--oracle delete+placeholder"}  # Figure 5


class Setup:
    """Names of what the stages share."""

    def __init__(self, run: Run) -> None:
        out, made = run.out, run.TRANSLATION
        self.languages = f"-s {run.SOURCE} -t {run.TARGET}"
        self.draft = run.DRAFT or "draft"
        self.drafted = out / ("texts" if run.DRAFT else "drafts")  # folder of the texts with their drafts
        weak = out / "weak_data" / "data"
        words = f"dict.{run.SOURCE}.txt"
        if made:  # the pieces of examples/translation
            self.piece_model = f"{made}/pieces/pieces.{run.SOURCE}-{run.TARGET}.model"
            first = f"--sentencepiece-model {self.piece_model} --srcdict {made}/binarise/data/{words}"
        else:
            self.piece_model = f"{out / 'triples/data' if run.DRAFT else weak}/sentencepiece.model"
            first = f"--learn-sentencepiece {run.VOCAB}"
        self.first_pieces = first
        self.pieces = (
            first if run.DRAFT else f"--sentencepiece-model {weak}/sentencepiece.model --srcdict {weak}/{words}"
        )
        self.translator = f"{made or out}/{'levt' if made else 'translator'}/checkpoint_best.pt"
        self.training = f"""{run.train} {self.languages} --required-batch-size-multiple 1 --clip-norm 1
            --label-smoothing 0.1 --log-interval 50 --max-tokens {run.TOKENS} --seed {run.SEED}"""


def texts(run: Run, setup: Setup) -> None:
    """Texts, drafts and data. Without drafts, the first half of train is `weak`, the second `train`."""
    here, out, languages = run.here, run.out, setup.languages
    weak, suffixes = out / "weak_data" / "data", f"{run.SOURCE} {run.TARGET} {run.DRAFT} {run.TAGS}"
    halve = "" if run.DRAFT else "--halve"
    read = (
        f"python {here}/texts.py --text {run.TEXT} --test {run.TEST} --output {out}/texts {halve} --suffixes {suffixes}"
    )
    run.stage("texts", "", read)
    if not run.DRAFT:
        run.stage(
            "weak_data",
            "texts",
            f"""lev-plugins prepare {languages} --train-prefix {out}/texts/weak --valid-prefix {out}/texts/valid
                --test-prefix {out}/texts/train {out}/texts/valid {out}/texts/test {setup.first_pieces}
                --joined-dictionary --dest {weak}""",
        )
        split = f"python {here}/texts.py --text {out}/texts --suffixes {suffixes} --drafts {out}/drafts/all.draft"
        if run.WEAK == "words":
            sources = " ".join(f"{out}/texts/{part}.{run.SOURCE}" for part in ("train", "valid", "test"))
            pair = f"{out}/texts/weak.{run.SOURCE} {out}/texts/weak.{run.TARGET}"
            drafting = f"python {here}/word_for_word.py --train {pair} {sources} >{out}/drafts/all.draft"
        else:
            run.training(
                "weak",
                "weak_data",
                f"""{setup.training} {weak} --save-dir {out}/weak --lr 0.002 --task translation --arch lstm
                    {both("layers", 1)} {both("embed-dim", run.WEAK_WIDTH)} {both("hidden-size", run.WEAK_WIDTH)}
                    --dropout 0.3 --decoder-out-embed-dim {run.WEAK_WIDTH} --share-all-embeddings --criterion
                    label_smoothed_cross_entropy --lr-scheduler inverse_sqrt --warmup-updates 200
                    --max-epoch {run.WEAK_EPOCHS} --no-epoch-checkpoints""",
            )
            drafting = f"""lev-plugins distill {weak} --path {out}/weak/checkpoint_best.pt --split test --beam 1
                --text {out}/drafts/all.draft --post-process sentencepiece --max-tokens 8000 {run.device}"""
        after = "weak_data" if run.WEAK == "words" else "weak"
        run.training("drafts", after, drafting, f"{split} --output {out}/drafts")
    synthetic = f"--extra-train-prefix {run.SYNTHETIC}" if run.SYNTHETIC else ""
    run.stage(
        "triples",
        setup.drafted.name,
        f"""lev-plugins prepare {languages} -d {setup.draft} --train-prefix {setup.drafted}/train {synthetic}
            --valid-prefix {setup.drafted}/valid --test-prefix {setup.drafted}/test --joined-dictionary {setup.pieces}
            --dest {out}/triples/data""",
    )
    if run.PARALLEL:
        run.stage(
            "pairs",
            "triples",
            f"""lev-plugins prepare {languages} --train-prefix {run.PARALLEL} --valid-prefix {setup.drafted}/valid
                --joined-dictionary --sentencepiece-model {setup.piece_model} --srcdict
                {out}/triples/data/dict.{run.SOURCE}.txt --dest {out}/pairs/data""",
        )


def systems(run: Run, setup: Setup) -> None:
    """The trainings."""
    shape = f"{run.sizes} {both('normalize-before')}"
    drafts = f"--draft-lang {setup.draft}"
    levt = f"--arch levt --criterion dual_policy --dropout {run.DROPOUT} --rollin-alpha 0.5 --rollin-beta 0.5"
    post_editor = "--arch post_edit_transformer --dropout 0.3 --criterion label_smoothed_cross_entropy"
    same_shape = f"$(python {run.here}/shape.py {setup.translator})" if run.TRANSLATION else shape
    flags = {
        "autoregressive": f"""{shape} {drafts} {post_editor} --eval-bleu-args '{{"beam": 1}}'""",
        "scratch": f"{shape} {drafts} {levt}",
        **({} if run.TRANSLATION else {"translator": f"{shape} {levt}"}),
        "finetuned": f"{same_shape} {drafts} {levt} --finetune-from-model {setup.translator}",
    }
    needed = {"translator", "finetuned", *(["autoregressive"] if run.DISTIL else [])}  # for the figures
    for name, own in flags.items():
        if run.goal == "figures" and name not in needed:
            continue
        data = "pairs" if name == "translator" and run.PARALLEL else "triples"
        if run.DISTIL and name != "autoregressive" and data == "triples":
            data = "distil"
            run.training(
                data,
                "autoregressive",
                f"""lev-plugins distill {run.out}/triples/data --path {run.out}/autoregressive/checkpoint_best.pt --dest
                    {run.out}/distil/data --beam {run.BEAM} --max-len-a 1.2 --max-len-b 10 --max-tokens {run.TOKENS}
                    {run.device}""",
            )
        upsampled = f"--upsample-primary {run.REAL_TIMES}" if run.SYNTHETIC and data != "pairs" else ""
        updates, rate = (run.FINETUNE_UPDATES, run.FINETUNE_LR) if name == "finetuned" else (run.UPDATES, run.LR)
        after = f"{data} translator" if name == "finetuned" and not run.TRANSLATION else data
        run.training(
            name,
            after,
            f"""{setup.training} {run.out}/{data}/data --save-dir {run.out}/{name} --task text_editing
                --share-all-embeddings {own} {upsampled} {falling(rate, run.WARMUP, updates)} {run.every} --eval-bleu
                --eval-bleu-remove-bpe sentencepiece --eval-tokenized-bleu --best-checkpoint-metric bleu
                --maximize-best-checkpoint-metric""",
        )


def tests(run: Run, setup: Setup) -> None:
    out = run.out
    decode = f"{run.generate} {out}/triples/data {setup.languages} --max-tokens 4000 --remove-bpe sentencepiece"
    drafts = f"--draft-lang {setup.draft}"
    trained = {name: f"{out}/{name}/checkpoint_best.pt" for name in ("scratch", "finetuned")}
    ready = "triples" if run.TRANSLATION else "translator"
    after = {name: name if name in trained else ready for name in EDITORS}

    def refine(name: str, gamma: str, bias: str) -> str:
        dials = "" if name == "translator" else f"{drafts} --keep-bias {bias}"
        return f"""{decode} --task text_editing --path {trained.get(name, setup.translator)} {dials} --print-step
            --iter-decode-max-iter {run.MAX_ITER} --iter-decode-eos-penalty {gamma}"""

    best = f"python {run.here}/best.py --reference {setup.drafted}/valid.{run.TARGET}"
    for name in EDITORS:  # the gamma with the highest BLEU on valid, then the bias that goes best with it
        if run.goal == "figures" and name != "finetuned":
            continue
        folder = out / f"dials_{name}"
        biases = [] if name == "translator" else run.parts("KEEP_BIASES")
        unbiased = {f"{folder}/{gamma},0.out": refine(name, gamma, "0") for gamma in run.parts("GAMMAS")}
        run.stage(
            f"dials_{name}",
            after[name],
            *(f"{command} --gen-subset valid >{output}" for output, command in unbiased.items()),
            f"{best} {' '.join(unbiased)} | cut -d, -f1 >{folder}/gamma",
            f"gamma=$(cat {folder}/gamma)",
            *(f"{refine(name, '$gamma', bias)} --gen-subset valid >{folder}/$gamma,{bias}.out" for bias in biases),
            f"{best} {' '.join(f'{folder}/$gamma,{bias}.out' for bias in ['0', *biases])} >{folder}/best",
        )
    if run.goal == "figures":
        figures(run, refine("finetuned", f"$(cat {out}/dials_finetuned/gamma)", "0"))
        return

    rewrite = f"{decode} --path {out}/autoregressive/checkpoint_best.pt --gen-subset test --task text_editing"
    run.stage(
        "test_autoregressive",
        "autoregressive",
        f"{rewrite} {drafts} --beam {run.BEAM} >{out}/test_autoregressive/test.out",
    )
    if run.TRANSLATION:  # what its LevT learned from; it sees no draft
        teacher = f"{decode} --path {run.TRANSLATION}/average/teacher.pt --gen-subset test --task translation"
        limits = "--max-len-a 1.2 --max-len-b 10"
        run.stage("test_teacher", "triples", f"{teacher} --beam {run.BEAM} {limits} >{out}/test_teacher/test.out")
    for name in EDITORS:
        for suffix, oracle in ORACLES.items():
            if not oracle or name in ("translator", "finetuned"):
                chosen = [f"$(cut -d, -f{column} {out}/dials_{name}/best)" for column in (1, 2)]
                test = f"test_{name}{suffix}"
                run.stage(
                    test, f"dials_{name}", f"{refine(name, *chosen)} --gen-subset test {oracle} >{out}/{test}/test.out"
                )
        if name != "translator":  # as in the paper, which has no bias
            test, gamma = f"test_{name}_unbiased", f"$(cat {out}/dials_{name}/gamma)"
            unbiased = f"{refine(name, gamma, '0')} --gen-subset test >{out}/{test}/test.out"
            run.stage(test, f"dials_{name}", unbiased)
    for name in EDITORS[:3]:  # which words of a draft are bad, by the deletion policy
        model = trained.get(name, setup.translator)
        run.stage(
            f"quality_{name}",
            after[name],
            f"""{run.threads} python {run.here}/quality.py {model} {out}/triples/data --pieces {setup.piece_model}
                --drafts {setup.drafted} --draft {setup.draft} --target {run.TARGET}
                {f"--tags {run.TAGS}" if run.TAGS else ""} --output {out}/quality_{name}/quality.json""",
        )
    run.show(
        "report.md",
        f"""python {run.here}/report.py {out} --draft {setup.drafted}/test.{setup.draft}
            --reference {setup.drafted}/test.{run.TARGET}""",
    )


def figures(run: Run, refine: str) -> None:
    """Figure 5 of the paper: the score after each iteration, without a bias, alone and with both oracles."""
    for suffix, oracle in ORACLES.items():
        command = f"{refine} --gen-subset test {oracle} --retain-iter-history"
        run.stage(f"history_finetuned{suffix}", "dials_finetuned", command)
    titles = ("alone", "delete", "delete+placeholder")
    logs = " ".join(
        f"{title}={run.out}/history_finetuned{suffix}/log" for title, suffix in zip(titles, ORACLES, strict=True)
    )
    for metric in ("bleu", "ter"):
        plot = f"python {run.examples}/figures.py oracle {logs} --metric {metric} --post-process sentencepiece"
        run.show("", f"{plot} --output {run.out}/{metric}.svg")


def plan(run: Run) -> None:
    run.begin("TEXT OUT", "THREADS")
    for name in ("SYNTHETIC", "TAGS"):
        require(
            not getattr(run, name) or bool(run.DRAFT),
            f"{name} is for triples of your own: give the suffix of their drafts, DRAFT=mt",
        )
    require(
        not (run.PARALLEL and run.TRANSLATION),
        "TRANSLATION is a translator, and PARALLEL is for training one: leave one out",
    )
    setup = Setup(run)
    texts(run, setup)
    systems(run, setup)
    tests(run, setup)


if __name__ == "__main__":
    sys.exit(main(__file__, "report figures", plan, lambda run: {"multi30k": run.TEXT}))
