"""From parallel text to a Levenshtein Transformer, by way of an autoregressive teacher: see README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.stages import Run, both, falling, main
from lev_plugins.errors import require

SHARINGS = ("plh-tok", "tok-del", "none")
ROLLINS = ("sample", "dae")
ORACLES = ("alone", "delete", "delete+placeholder")
# fairseq's own models, with the flags of its examples/nonautoregressive_translation (Table 2a: IT and MaskT)
PEERS = {
    "it": """--arch iterative_nonautoregressive_transformer --noise full_mask --pred-length-offset
        --length-loss-factor 0.1 --train-step 4 --dae-ratio 0.5 --stochastic-approx""",
    "maskt": "--arch cmlm_transformer --noise random_mask",
}
LENGTHS = 256  # of outputs, or differences to the source, that these tell apart


def text(run: Run) -> str:
    """Pieces and binarised data; returns the languages as flags."""
    languages = f"--source-lang {run.SOURCE} --target-lang {run.TARGET}"
    run.stage(
        "pieces",
        "",
        f"""python {run.here}/pieces.py --text {run.TEXT} --test {run.TEST} --source {run.SOURCE} --target {run.TARGET}
            --vocab {run.VOCAB} --kind {run.KIND} --coverage {run.COVERAGE} {"--separate" if run.SEPARATE else ""}
            --longest {run.LONGEST} --output {run.out}/pieces""",
    )
    run.stage(
        "binarise",
        "pieces",
        f"""fairseq-preprocess {languages} --trainpref {run.out}/pieces/train --validpref {run.out}/pieces/valid
            --testpref {run.out}/pieces/test --destdir {run.out}/binarise/data
            {"" if run.SEPARATE else "--joined-dictionary"} --workers {run.THREADS}""",
    )
    return languages


def positions(source: int, target: int = 0) -> str:
    return f"--max-source-positions {source} --max-target-positions {target or source}"


def teacher(run: Run, training: str) -> None:
    """The autoregressive model, and the training set in its translation."""
    average = run.number("AVERAGE")
    run.training(
        "teacher",
        "binarise",
        f"""{run.train} {run.out}/binarise/data {training} --save-dir {run.out}/teacher --task translation --arch
            transformer --criterion label_smoothed_cross_entropy --max-tokens {run.TOKENS}
            {positions(run.number("LONGEST"))} --max-update {run.TEACHER_UPDATES} {run.TEACHER_TRAINING}
            --keep-last-epochs {average or 1} {run.TEACHER_FLAGS}""",
    )
    averaging = f"lev-plugins average {run.out}/teacher --last {average} --output"
    take = averaging if average else f"cp {run.out}/teacher/checkpoint_best.pt"
    run.stage("average", "teacher", f"{take} {run.out}/average/teacher.pt")
    run.training(
        "distil",
        "average",
        f"""OMP_NUM_THREADS=1 lev-plugins distill {run.out}/binarise/data --path {run.out}/average/teacher.pt
            --dest {run.out}/distil/data --beam {run.BEAM} --max-len-a 1.2 --max-len-b 10 --max-tokens {run.TOKENS}
            --shard-size {run.SHARD_SIZE} --processes {run.gpus or run.THREADS} {run.device}""",
    )


def variants(run: Run) -> dict[str, str]:
    """The LevTs: what sets each apart from the first, as flags of fairseq-train."""
    flags = {"levt": ""}
    if run.ALSO_FAST:
        deletion, placeholder, decoder = run.parts("FAST_EXITS")
        exits = f"--deletion-layers {deletion} --placeholder-layers {placeholder} --decoder-layers {decoder}"
        flags["levt_fast"] = f"--arch levt_fast {exits}"
    if run.ALSO_ORACLE:
        flags["levt_oracle"] = ""
    for targets, setting in (("", "ABLATIONS"), ("oracle_", "ORACLE_ABLATIONS")):
        for name in run.parts(setting):
            own = f"--deletion-rollin {name}" if name in ROLLINS else f"--share-weights {name}"
            flags[f"levt_{targets}{name}"] = own
    for blocks in run.parts("EARLY_EXITS"):
        deletion, placeholder = blocks.split("-")
        flags[f"levt_{blocks}"] = f"--deletion-layers {deletion} --placeholder-layers {placeholder}"
    return flags


def from_teacher(run: Run, start: str, file: str, convert: str) -> tuple[str, str]:
    """The stage that converts the teacher's weights into those that a training starts from, and its flag for them."""
    if run.LEVT_START != "teacher":
        return "", ""
    path = f"{run.out}/{start}/{file}"
    run.stage(start, "average", f"{convert} {run.out}/average/teacher.pt {path}")
    return start, f"--finetune-from-model {path}"


def levt(run: Run, name: str, flags: str, training: str) -> None:
    """On the teacher's translations; levt_oracle, on the original targets. It starts from the teacher's weights."""
    data = "binarise" if name.startswith("levt_oracle") else "distil"
    variant = name.removeprefix("levt_").removeprefix("oracle_")
    imported = {"fast": f"--early-exit {run.FAST_EXITS}", **{each: f"--share-weights {each}" for each in SHARINGS}}
    start = f"levt_start_{variant}" if variant in imported else "levt_start"
    start, finetune = from_teacher(run, start, "levt.pt", f"lev-plugins import-levt {imported.get(variant, '')}")
    run.training(
        name,
        f"{data} {start}",
        f"""{run.train} {run.out}/{data}/data {training} --save-dir {run.out}/{name} --task text_editing --arch levt
            --criterion dual_policy {positions(run.number("LONGEST") + 1)} {schedule(run)}
            {finetune} {run.every} --eval-bleu --eval-bleu-args
            '{{"iter_decode_max_iter": {run.MAX_ITER}, "iter_decode_eos_penalty": {run.GAMMA}}}' --eval-bleu-detok
            space --eval-bleu-remove-bpe sentencepiece --best-checkpoint-metric bleu --maximize-best-checkpoint-metric
            {"--eval-tokenized-bleu" if run.BLEU_TOKENIZE == "none" else ""} {flags} {run.LEVT_FLAGS}""",
    )


def schedule(run: Run) -> str:
    own = f"{falling(0.002, 300, run.LEVT_UPDATES)} --clip-norm 1 --dropout 0.1 --max-tokens 2048"
    return f"--max-update {run.LEVT_UPDATES} {run.LEVT_TRAINING or own}"


def peer(run: Run, name: str, training: str) -> None:
    """A refinement model of fairseq's; its task scores no BLEU, so the loss chooses the checkpoint."""
    source, target = run.number("LONGEST") + 1, run.number("LONGEST") + 1 + LENGTHS
    convert = f"python {run.here}/peer_start.py --positions {source} {target}"
    start, finetune = from_teacher(run, "peer_start", "peer.pt", convert)
    run.training(
        name,
        f"distil {start}",
        f"""{run.train} {run.out}/distil/data {training} --save-dir {run.out}/{name} --task translation_lev
            {PEERS[name]} --criterion nat_loss --weight-decay 0.01 {both("learned-pos")} --apply-bert-init
            --fixed-validation-seed 7 {finetune} {positions(source, target)} {schedule(run)} {run.every}""",
    )


def plan(run: Run) -> None:
    run.begin(
        "TEXT OUT", "ALSO_ORACLE ALSO_FAST ABLATIONS ORACLE_ABLATIONS EARLY_EXITS PEERS SEARCH METRIC SEGMENT THREADS"
    )
    languages = text(run)
    share = "--share-decoder-input-output-embed" if run.SEPARATE else "--share-all-embeddings"
    training = f"""{languages} {run.sizes} {share} --label-smoothing 0.1 --required-batch-size-multiple 1
        --log-interval 50 --seed {run.SEED}"""
    teacher(run, training)
    levts = variants(run)
    for name, flags in levts.items():
        levt(run, name, flags, training)
    peers = run.parts("PEERS")
    require({*peers} <= PEERS.keys(), f"PEERS must be some of {', '.join(PEERS)}, but is {run.PEERS}")
    for name in peers:
        peer(run, name, training)

    # tests: one sentence at a time in one thread, so that one run gives quality and latency
    decode = f"""OMP_NUM_THREADS=1 fairseq-generate {run.out}/binarise/data {run.fairseq} {languages}
        --required-batch-size-multiple 1 --gen-subset test --batch-size 1"""
    teaching = f"""{decode} --task translation --path {run.out}/average/teacher.pt --max-len-a 1.2 --max-len-b 10
        {positions(run.number("LONGEST"))}"""
    refining = f"""{decode} {positions(run.number("LONGEST") + 1)} --beam 1 --print-step
        --iter-decode-max-iter {run.MAX_ITER}"""
    editing = f"{refining} --task text_editing --iter-decode-eos-penalty {run.GAMMA}"
    systems = {"greedy": ("average", f"{teaching} --beam 1"), "beam": ("average", f"{teaching} --beam {run.BEAM}")}
    systems |= {name: (name, f"{editing} --path {run.out}/{name}/checkpoint_best.pt") for name in levts}
    if run.number("SEARCH"):  # what search and re-ranking bring to the first LevT (section 3.3)
        greedy, sampled = systems["levt"][1], f"--iter-decode-with-beam {run.SEARCH}"
        rerank = f"--path {run.out}/levt/checkpoint_best.pt:{run.out}/average/teacher.pt"
        noisy = greedy.replace("fairseq-generate", f"python {run.here}/noisy.py {run.SEARCH} {run.SIGMA}")
        systems |= {
            "sampled": ("levt", f"{greedy} {sampled}"),
            "reranked": ("levt", f"{greedy} {sampled} {rerank} --iter-decode-with-external-reranker"),
            "noisy": ("levt", noisy),
        }
    refining += " --task translation_lev --path"
    systems |= {name: (name, f"{refining} {run.out}/{name}/checkpoint_best.pt") for name in peers}
    for name, (trained, command) in systems.items():
        if run.goal == "report" or name == "levt":
            test = f"{run.out}/test_{name}"
            # with one iteration more, I- lines tell whether the last one that is allowed still changes the text
            most = run.number("MAX_ITER") + 1
            more = f"{command} --iter-decode-max-iter {most} >{test}/longer.out 2>{test}/longer.log"
            run.stage(f"test_{name}", trained, f"{command} >{test}/test.out", more if name in levts else "")
    if run.goal == "figures":
        figures(run, systems)
        return
    run.show(
        "report.md",
        f"""python {run.here}/report.py {run.out} --reference {run.out}/pieces/test.reference --metric {run.METRIC}
            --bleu-tokenize {run.BLEU_TOKENIZE} --beam {run.BEAM} --max-iter {run.MAX_ITER}
            {f"--segment '{run.SEGMENT}'" if run.SEGMENT else ""}""",
    )


def figures(run: Run, systems: dict[str, tuple[str, str]]) -> None:
    """Figures 4a, 4b and 5a of the paper, from decodings whose logs have the BLEU of words and all iterations."""
    of_words = f"--remove-bpe sentencepiece --scoring sacrebleu --sacrebleu-tokenizer {run.BLEU_TOKENIZE}"
    for name, (trained, command) in systems.items():
        run.stage(f"time_{name}", trained, f"{command} {of_words}")
    for oracle in ORACLES:
        flags = "" if oracle == "alone" else f"--oracle {oracle}"
        run.stage(f"history_{oracle}", "levt", f"{systems['levt'][1]} {of_words} --retain-iter-history {flags}")
    times = " ".join(f"{name}={run.out}/time_{name}/log" for name in systems)
    histories = " ".join(f"{oracle}={run.out}/history_{oracle}/log" for oracle in ORACLES)
    draw = f"python {run.examples}/figures.py"
    run.show(
        "",
        f"{draw} iterations {run.out}/test_levt/test.out --output {run.out}/iterations.svg",
        f"{draw} exits {times} --output {run.out}/exits.svg",
        f"{draw} oracle {histories} --output {run.out}/oracle.svg --post-process sentencepiece",
    )


if __name__ == "__main__":
    sys.exit(main(__file__, "report figures", plan, lambda run: {"multi30k": run.TEXT}))
