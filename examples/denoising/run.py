"""Remove noise, with and without gates, as in section 4.3.1 of the gated-Trans paper; all decoding is free-running: see
README.md."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import editor
from examples.stages import Run, both, falling, main
from lev_plugins.errors import require

GATES = {
    "none": "",
    "all": "mask,copy,generate,skip",
    "MG": "mask,generate",
    "CG": "copy,generate",
    "MCG": "mask,copy,generate",
}
# noise of several kinds in equal shares, by name; every other noise is a kind of its own
MIXTURES = {
    "random-swap": "insert,delete,swap",  # "random" of section 4.1.1; of appendix A.2 is the kind random
    "swap-both": "swap,swap-words",  # letters and words, as in A.2; Table 2 has letters only
}
# of two neighbours that change places, lev-plugins noise counts both words, but WRR misses one: a slip of swap-both
# counts as 1.5 words on average, and WRR misses 1
EXCHANGE_RATE, MOST_EXCHANGES = 1.5, 0.66
WRITES = {"random", "insert", "substitute"}  # kinds that have an alphabet
SPLITS = ("train", "valid", "test")


def added(run: Run, noise: str, prefix: str) -> str:
    """Flags of the noise, for lev-plugins noise, and with the prefix --noise- for fairseq-train."""
    kinds, rate = MIXTURES.get(noise, noise), run.WORD_RATE
    if noise == "swap-both":
        known = bool(re.fullmatch(r"0?\.\d+|0", rate)) and float(rate) <= MOST_EXCHANGES
        require(known, f"WORD_RATE must be a number up to {MOST_EXCHANGES} for swap-both, but is '{rate}'")
        rate = f"{EXCHANGE_RATE * float(rate):.4g}"
    flags = f"{prefix}kind {kinds} {prefix}word-rate {rate}"
    flags += f" {prefix}char-rate {run.CHAR_RATE}" if run.CHAR_RATE else ""
    flags += f" {prefix}alphabet '{run.ALPHABET}'" if run.ALPHABET and WRITES & {*kinds.split(",")} else ""
    return flags + (f" {prefix}shift-rate {run.SHIFT_RATE}" if run.SHIFT_RATE and noise == "keyboard" else "")


def texts(run: Run, noises: list[str]) -> None:
    """train, valid and test .src and .tgt: clean, or pairs (texts), and with noise (noise_KIND)."""
    out = run.out / "texts"
    files = [f"--{split} {out}/corpus/{split}.txt" for split in SPLITS]
    if run.TEXT:
        names = {"train": run.TRAIN, "valid": run.VALID, "test": run.TEST}
        files = [f"--source {run.SOURCE} --target {run.TARGET}"]
        files += [f"--{split} {run.TEXT}/{name}" for split, name in names.items() if name]
    copies = run.COPIES if noises != ["as-is"] else "1"
    run.stage(
        "texts",
        "",
        ""
        if run.TEXT
        else f"python {run.examples}/english/corpus.py {out}/corpus --packages numpy,scipy,sklearn,torch",
        f"""python {run.here}/texts.py {" ".join(files)} --sentences {run.SENTENCES} --copies {copies} --output
            {out}""",
    )
    for noise in noises:
        folder, flags = run.out / f"noise_{noise}", added(run, noise, "--")
        if noise != "as-is":
            run.stage(
                f"noise_{noise}",
                "texts",
                f"cp {out}/*.tgt {folder}",
                *(
                    f"lev-plugins noise {flags} --seed {seed} <{out}/{split}.src >{folder}/{split}.src"
                    for seed, split in enumerate(SPLITS, 1)
                ),
            )


def data(run: Run, noise: str, noisy: Path) -> None:
    """What the models read; test.src and test.tgt are what the report scores."""
    folder, backbone = run.out / f"data_{noise}", run.BACKBONE
    if not backbone:
        run.stage(
            folder.name,
            noisy.name,
            f"""lev-plugins prepare -s src -t tgt --train-prefix {noisy}/train --valid-prefix {noisy}/valid
                --test-prefix {noisy}/test --learn-sentencepiece {run.VOCAB} --joined-dictionary --dest {folder}/bin""",
            f"cp {noisy}/test.src {noisy}/test.tgt {folder}",
        )
    else:  # a tokenizer may lose case and spaces, so references go through it as well
        pieces = folder / "pieces"
        run.stage(
            folder.name,
            noisy.name,
            f"lev-plugins encode {backbone} {noisy}/{{train,valid,test}}.{{src,tgt}} --into {folder}/whole",
            f"mkdir -p {pieces}",
            f"""for name in {{train,valid,test}}.{{src,tgt}}; do
                cut -d ' ' -f 1-{run.LONGEST if run.LONGEST != "0" else ""} {folder}/whole/$name >{pieces}/$name;
                done""",
            f"lev-plugins encode {backbone} {pieces}/test.src {pieces}/test.tgt --decode --into {folder}",
            f"""fairseq-preprocess -s src -t tgt --trainpref {pieces}/train --validpref {pieces}/valid --testpref
                {pieces}/test --joined-dictionary --srcdict {backbone}/dict.txt --destdir {folder}/bin""",
        )
    if run.speller:
        after = folder if backbone else noisy
        symspell = f"python {run.here}/symspell.py --words {noisy}/train.tgt <{after}/test.src"
        run.stage(f"symspell_{noise}", after.name, f"{symspell} >{run.out}/symspell_{noise}/test.out")


# ---- the systems -----------------------------------------------------------------------------------------------------


def gated(run: Run, noise: str, name: str, seed: str) -> None:
    """A Transformer with some of the gates, on pieces."""
    binarised, trained = f"{run.out}/data_{noise}/bin", f"train_{noise}_{name}_{seed}"
    pair = "--task text_correction -s src -t tgt"
    if run.BACKBONE:
        family = json.loads((Path(run.BACKBONE) / "config.json").read_text(encoding="utf-8"))["model_type"]
        model = f"""--arch gated_{family.replace("mt5", "t5")} --backbone {run.BACKBONE} --optimizer scaled_adam
            --backbone-lr-factor {run.LR_FACTOR} --adam-betas '(0.9,0.999)' --best-checkpoint-metric loss
            {"--tie-encoder-decoder" if run.TIE and family == "bert" else ""}"""
        spelling = f"--bpe pretrained --pretrained-tokenizer {run.BACKBONE}"
    else:
        model = f"""--arch gated_trans --share-all-embeddings --dropout 0.1 {run.sizes} {both("normalize-before")}
            --eval-wrr --eval-bleu-remove-bpe sentencepiece --best-checkpoint-metric wrr
            --maximize-best-checkpoint-metric"""
        spelling = f"--bpe sentencepiece --sentencepiece-model {binarised}/sentencepiece.model"
    schedule = run.SCHEDULE or f"{falling(run.LR, run.WARMUP, run.UPDATES)} {run.every}"
    run.training(
        trained,
        f"data_{noise}",
        f"""{run.train} {binarised} {pair} --save-dir {run.out}/{trained} --gates '{GATES[name]}' --gate-mix
            {run.GATE_MIX} --copy-from {run.COPY_FROM} {model} {schedule} --criterion label_smoothed_cross_entropy
            --report-accuracy --label-smoothing {run.SMOOTHING} --eval-bleu-args '{{"beam": 1}}' --clip-norm 1
            --weight-decay 0.001 --max-tokens {run.TOKENS} --required-batch-size-multiple 1 --patience {run.PATIENCE}
            --log-interval 50 --seed {seed} {run.TRAIN_FLAGS}""",
    )
    checkpoint = f"{run.out}/{trained}/checkpoint_best.pt"
    if run.goal == "report":
        test, forced = f"test_{noise}_{name}_{seed}", f"forced_{noise}_{name}_{seed}"
        run.stage(
            test,
            trained,
            f"""{run.generate} {binarised} {pair} --path {checkpoint} --gen-subset test --beam {run.BEAM} --max-len-a
                1.5 --max-len-b 20 --max-tokens 6000 {spelling} >{run.out}/{test}/test.out""",
        )
        # what the code that belongs to the paper scores: the likeliest pieces after those of the reference
        run.stage(
            forced,
            trained,
            f"""{run.threads} python {run.here}/forced.py {checkpoint} {binarised} {spelling} {run.device}
                --references {run.out}/data_{noise}/test.tgt --output {run.out}/{forced}/forced.json""",
        )
    if run.goal == "figures" and name != "none":
        figures(run, noise, trained, f"{run.out}/data_{noise}", f"{binarised} {{}} --path {checkpoint} {spelling}")


def figures(run: Run, noise: str, trained: str, data: str, model: str) -> None:
    """Figures 2 and 3 of the paper: the gates by noise, by length and by token."""
    folder = run.out / trained.replace("train_", "gates_")
    # the clean form of the source: the text before noise was added, or the target if that is what wrr compares with
    clean = f"{run.out}/texts/test.src"
    if noise == "as-is" or run.BACKBONE:
        clean = f"{data}/test.tgt" if "wrr" in run.parts("METRICS") else ""
    by_noise = f"--reference {folder}/clean --by noise --output {folder}/noise.svg" if clean else ""
    saved = f"python {run.here}/gates.py --saved {noise}={folder}/gates.jsonl"
    run.stage(
        folder.name,
        trained,
        f"head -n 400 {data}/test.src >{folder}/source",
        f"head -n 400 {clean} >{folder}/clean" if clean else "",
        f"""{run.threads} python {run.here}/gates.py {model.format(f"{folder}/source")} {by_noise} --save
            {folder}/gates.jsonl --beam {run.BEAM} {run.device}""",
        f"{saved} --by length --output {folder}/length.svg",
        f"{saved} --first 3 --output {folder}/sentences.svg",
    )


def levt(run: Run, noise: str, noisy: Path, seed: str) -> None:
    """An editor with spelling-aware words. Noise is made while training, so one copy of clean text will do. Pairs lose
    their gaps; a list says what else is a word."""
    words, text = run.out / f"words_{noise}", run.out / f"words_{noise}" / "text"
    trained, test = f"train_{noise}_levt_{seed}", f"test_{noise}_levt_{seed}"
    prefixes = " ".join(f"--{split}-prefix {text}/{split}" for split in SPLITS)
    prepare = f"{editor.PREPARE} -s src -t tgt {prefixes} --dest {words}/bin"
    files = [f"mkdir -p {text}", f"cp {noisy}/*.src {noisy}/*.tgt {text}"]
    drafts = f"for split in train valid test; do cp {text}/$split.src {text}/$split.draft; done"
    if noise == "as-is":
        # in half of the pairs, the mistakes of the pairs are made again; the others stay as they are
        mistakes = f"""--noise-kind confusions --noise-confusions {words}/confusions.tsv --noise-share 0.5
            --noise-word-rate 0.25 {f"--upsample-primary {run.PAIRS}" if run.CLEAN else ""}"""
        repairs = f"python {run.here}/repairs.py {noisy}/$split.src {noisy}/$split.tgt {text}/$split"
        commands = [
            *files,
            f"for split in train valid; do {repairs}; done",
            f"lev-plugins confusions {text}/train.src {text}/train.tgt >{words}/confusions.tsv",
            f"python {run.here}/widen.py {noisy}/train.tgt {words} --most {run.LEVT_WORDS}",
            f"python {run.here}/familiar.py {words}/dict.txt <{run.CLEAN} >>{words}/words" if run.CLEAN else "",
            f"for side in src draft tgt; do cp {words}/words {text}/list.$side; done",
            drafts,
            f"{prepare} --tgtdict {words}/dict.txt --extra-train-prefix {text}/list",
        ]
    else:
        mistakes = added(run, noise, "--noise-")
        once = f"awk '!seen[$0]++' {noisy}/train.tgt >{text}/train.tgt"
        commands = [*files, once, drafts, f"{prepare} --clean-dictionary --clean-train"]
    run.stage(words.name, noisy.name, *commands)
    run.training(
        trained,
        words.name,
        f"""{editor.training(run, run.number("LEVT_UPDATES"), run.LEVT_TOKENS, run.LEVT_LR, run.LEVT_DROPOUT)}
            {words}/bin -s src -t tgt {mistakes} --seed {seed} --save-dir {run.out}/{trained}""",
    )
    if run.goal == "report":
        made = run.out / test / "editor"
        also = "--edit-also all"  # the noise, and scanners, spare neither numbers nor signs
        valid = noisy / "valid.src", noisy / "valid.tgt"
        folder = editor.folder(run, run.out / trained, words / "bin", made, *valid, f"--best wrr {also}")
        run.stage(test, trained, folder, f"lev-plugins edit {made} <{text}/test.src >{run.out}/{test}/test.out")


def plan(run: Run) -> None:
    run.begin(f"OUT {run.NEEDED}", "NOISES SYSTEMS SEEDS SYMSPELL METRICS THREADS")
    noises = run.parts("NOISES") or (["as-is"] if run.TEXT else ["random", "keyboard", "swap", "delete"])
    systems, unknown = run.parts("SYSTEMS"), {*run.parts("SYSTEMS")} - {*GATES, "levt"}
    require(not unknown, f"SYSTEMS must be some of {', '.join(GATES)} and levt, but has {', '.join(unknown)}")
    if run.BACKBONE:  # a tokenizer's text is for its own models
        systems = [name for name in systems if name != "levt"]
    require(
        not (run.TEXT and noises != ["as-is"] and "levt" in systems),
        "levt learns added noise from clean text alone: with TEXT and NOISES, leave it out of SYSTEMS",
    )
    texts(run, noises)
    for noise in noises:
        noisy = run.out / ("texts" if noise == "as-is" else f"noise_{noise}")
        data(run, noise, noisy)
        for name in systems:
            for seed in run.parts("SEEDS"):
                if name != "levt":
                    gated(run, noise, name, seed)
                elif run.goal != "figures":
                    levt(run, noise, noisy, seed)
    if run.goal == "report":
        names = (
            f"--noises '{' '.join(noises)}' --systems '{' '.join(systems)}' --seeds '{' '.join(run.parts('SEEDS'))}'"
        )
        run.show(
            "report.md", f"python {run.here}/report.py {run.out} {names} --metrics '{' '.join(run.parts('METRICS'))}'"
        )


if __name__ == "__main__":
    sys.exit(main(__file__, "report trainings figures", plan, lambda run: {"icdar2017": run.TEXT or "data/icdar2017"}))
