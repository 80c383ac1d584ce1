"""Train a small corrector of English grammar on clean text with synthetic mistakes: see README.md."""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import editor
from examples.stages import Run, falling, main
from lev_plugins.errors import require


def text(run: Run) -> str:
    """Clean on both sides of train, where mistakes are made while training; those of valid stay the same.

    Returns the table of confusions, of which learners' own are a part with TUNE.
    """
    here, out = run.here, run.out / "texts"
    corpus = f"python {run.examples}/english/corpus.py {out}/docstrings --packages {editor.PACKAGES}"
    table = run.CONFUSIONS or f"{out}/confusions.tsv"
    known, learned = f"{here}/confusions.tsv", run.out / "pairs"
    if run.TUNE:  # M2 files; the last hundredth validates
        run.stage(
            "pairs",
            "",
            f"python {here}/texts.py pairs {learned} {run.TUNE}",
            f"""lev-plugins confusions {learned}/train.noisy {learned}/train.clean --unit word --longest 2
                >{learned}/learned.tsv""",
            f"{{ cat {known}; tail -n +2 {learned}/learned.tsv; }} >{learned}/confusions.tsv",
        )
        known = f"{learned}/confusions.tsv"
    run.stage(
        "texts",
        "pairs" if run.TUNE else "",
        "" if run.TEXT else corpus,
        f"python {here}/texts.py split {run.TEXT or f'{out}/docstrings'} {out} --sentences {run.SENTENCES}",
        "" if run.CONFUSIONS else f"python {here}/inflections.py {known} {out}/train.clean >{table}",
        f"""lev-plugins noise {noise(run, table, "--")} --seed {run.number("SEED") + 1} <{out}/valid.clean
            >{out}/valid.noisy""",
        f"python {here}/tokens.py plain <{run.TEST}/dev.src >{out}/test.noisy",
        f"python {here}/tokens.py plain <{run.TEST}/dev.ref0 >{out}/test.clean",
    )
    return table


def noise(run: Run, table: str, prefix: str = "--noise-") -> str:
    confused = f"{prefix}confusions={table}" if "confusions" in run.NOISE else ""  # only this kind takes a table
    more = run.NOISE_FLAGS.replace("--", prefix)
    return f"{prefix}kind {run.NOISE} {prefix}word-rate {run.WORD_RATE} {more} {confused}"


def train_editor(run: Run, table: str) -> None:
    """On the words of the text and of a frequency list; the noisy text is the draft as well.

    On synthetic mistakes (levt; or START is trained further instead), then, with TUNE, on real ones (tune): alone, or
    each four times among TUNE_SYNTHETIC sentences with synthetic ones. With the BACKBONE, if any.
    """
    out, words, seed = run.out, run.out / "words", run.number("SEED")
    synthetic = f"lev-plugins noise {noise(run, table, '--')}"
    run.stage(
        "words",
        "texts",
        *editor.written(run, words, f"--text {out}/texts/train.clean --listed {run.WORDS}", synthetic, seed + 1),
        editor.prepared(words, words / "bin"),
    )
    start = f"--backbone {run.BACKBONE} --optimizer scaled_adam --backbone-lr-factor 0.05" if run.BACKBONE else ""
    more = f"-s noisy -t clean {run.sizes} {start} --seed {run.SEED} {run.TRAIN_FLAGS}"
    trained, after = run.START, "words"
    if not trained:
        after, trained = "levt", f"{out}/levt/checkpoint_last.pt"
        run.training(
            "levt",
            "words",
            f"""{editor.training(run, run.number("LEVT_UPDATES"), run.LEVT_TOKENS, run.LEVT_LR, run.DROPOUT)}
                {words}/bin {more} {noise(run, table)} --save-dir {out}/levt""",
        )
    last, text = out / "levt", words
    if run.TUNE:
        last, text = out / "tune", out / "pairs"
        mixed = out / "real/synthetic" if run.number("TUNE_SYNTHETIC") else ""
        run.stage(
            "real",
            "words pairs",
            f"head -n {run.TUNE_SYNTHETIC} {words}/train.clean >{mixed}.clean" if mixed else "",
            f"{synthetic} --seed {seed + 3} <{mixed}.clean >{mixed}.noisy" if mixed else "",
            f"for text in {text}/train {text}/valid {mixed}; do cp $text.noisy $text.draft; done",
            f"""{editor.PREPARE} -s noisy -t clean --srcdict {words}/dict.txt --train-prefix {text}/train
                {f"--extra-train-prefix {mixed}" if mixed else ""} --valid-prefix {text}/valid --dest {out}/real/bin""",
        )
        run.training(
            "tune",
            f"real {after}",
            f"""{editor.training(run, run.number("TUNE_UPDATES"), run.LEVT_TOKENS, run.TUNE_LR, run.DROPOUT)}
                {out}/real/bin {"--upsample-primary 4" if mixed else ""} {more} --finetune-from-model {trained}
                --save-dir {last}""",
        )
    choice, after = "--best gleu", last.name
    if run.PROMISE:
        choice = editor.promise(run, "texts", words, synthetic, seed + 2)
        after += " other"
    files = (text / "valid.noisy", text / "valid.clean")
    run.stage("editor", after, editor.folder(run, last, words / "bin", out / "editor/folder", *files, choice))


def pieces(out: Path) -> str:
    data = out / "data" / "data"
    return f"--joined-dictionary --srcdict {data}/dict.noisy.txt --sentencepiece-model {data}/sentencepiece.model"


def train_corrector(run: Run, table: str) -> Path:
    """On synthetic mistakes (train), then on real ones (tune). Returns the last checkpoint."""
    out, texts, data = run.out, run.out / "texts", run.out / "data" / "data"
    run.stage(
        "data",
        "texts",
        f"""lev-plugins prepare -s noisy -t clean --train-prefix {texts}/train --valid-prefix {texts}/valid
            --test-prefix {texts}/test --learn-sentencepiece {run.VOCAB} --joined-dictionary --dest {data}""",
    )
    sizes = f"--layers {run.LAYERS} --embed-dim {run.WIDTH} --ffn-embed-dim {run.FFN} --attention-heads {run.HEADS}"

    def training(name: str, after: str, text: Path, rate: str, length: str, more: str) -> None:
        updates = getattr(run, length)
        require(
            run.number(length) % run.number("VALID_EVERY") == 0,
            f"{length} must be a multiple of VALID_EVERY, {run.VALID_EVERY}, but is {updates}",
        )
        folder = out / name
        run.training(
            name,
            after,
            f"""{run.train} {text} --save-dir {folder} --task text_correction -s noisy -t clean --arch {run.ARCH}
                {sizes if run.ARCH == "pbd" else run.sizes} --share-all-embeddings --dropout {run.DROPOUT}
                --criterion label_smoothed_cross_entropy --label-smoothing 0.1 {falling(rate, run.WARMUP, updates)}
                --clip-norm 1 --max-tokens {run.TOKENS} {run.every} --keep-interval-updates {run.AVERAGE}
                --log-interval 100 --seed {run.SEED} {more} {run.TRAIN_FLAGS}""",
            f"rm -f {folder}/average.pt",
            # the last update has no file with its number if an epoch ends there
            f"""lev-plugins average $(ls {folder}/checkpoint_*_*.pt | grep -v _{updates}.pt) {folder}/checkpoint_last.pt
                --output {folder}/average.pt""",
        )

    spelling = f"--bpe sentencepiece --sentencepiece-model {data}/sentencepiece.model"
    more = f"{noise(run, table)} --noise-seed {run.SEED} {spelling}"
    prepare = f"lev-plugins prepare -s noisy -t clean {pieces(out)}"
    real, pairs = out / "tune_data", out / "pairs"
    if run.TUNE:
        run.stage(
            "tune_data",
            "data pairs",
            f"{prepare} --train-prefix {pairs}/train --valid-prefix {pairs}/valid --dest {real}/data",
        )
    base = "data"
    if run.number("BOOST"):  # clean sentences, with the mistakes that a model of the real pairs makes in them
        require(bool(run.TUNE) and run.UPDATES != "0", "BOOST needs TUNE, whose mistakes it learns, and UPDATES")
        base, boost = "boost", out / "boost"
        training("backwards", "tune_data", real / "data", run.LR, "BOOST_UPDATES", "-s clean -t noisy")
        made = f"{run.generate} {boost}/bin --task text_correction -s clean -t noisy --gen-subset train"
        run.stage(
            base,
            "backwards",
            f"for side in clean noisy; do head -n {run.BOOST} {texts}/train.clean >{boost}/text.$side; done",
            f"{prepare} --train-prefix {boost}/text --dest {boost}/bin",
            f"""{made} --path {out}/backwards/average.pt --beam 1 --sampling --sampling-topk 10 --seed {run.SEED}
                --remove-bpe sentencepiece --max-tokens 4000 >{boost}/generated""",
            f"python {run.here}/fluency.py {boost}/text.clean {boost}/pairs --generated {boost}/generated",
            f"""{prepare} --train-prefix {texts}/train --extra-train-prefix {boost}/pairs --valid-prefix {texts}/valid
                --dest {boost}/data""",
        )
    if run.number("UPDATES"):
        training("train", base, out / base / "data", run.LR, "UPDATES", more)
    last, text, valid = out / "train", data, texts / "valid"
    if run.TUNE:
        text, valid = real / "data", pairs / "valid"
        start = f"--finetune-from-model {out}/train/average.pt" if run.number("UPDATES") else ""
        after = "tune_data train" if start else "tune_data"
        training("tune", after, text, run.TUNE_LR, "TUNE_UPDATES", start)
        last = out / "tune"
    sweep = out / "sweep"
    decode = f"""{run.generate} {text} --task text_correction -s noisy -t clean --path {last}/average.pt
        --gen-subset valid --beam {run.BEAM} --remove-bpe sentencepiece --max-tokens 4000"""
    score = f"lev-plugins score gleu --generated {sweep}/generated {valid}.clean --source {valid}.noisy"
    run.stage(
        "sweep",
        last.name,
        f"""for bias in {run.KEEP_BIASES.replace(",", " ")}; do for confidence in 0 0.3 0.5 0.7 0.9; do
            flags="--keep-bias $bias --min-edit-confidence $confidence"; {decode} $flags >{sweep}/generated || exit;
            echo "$({score} | head -n 1) $flags" >>{sweep}/scores; done; done""",
        f"sort -k4n {sweep}/scores | tail -n 1 | grep -o -e '--keep-bias.*' >{sweep}/best",
    )
    return last / "average.pt"


Corrected = Callable[[Path, str, str, Path], list[str]]


def systems(run: Run, table: str) -> Corrected:
    """Trains. Returns the commands that correct a noisy text, given its tokens and its binarised form as well: as the
    model decodes (plain.out) and with the values that the validation set has chosen (careful.out)."""
    out = run.out
    if run.ARCH == "levt":
        train_editor(run, table)
        edit = f"lev-plugins edit {out}/editor/folder"

        def edited(made: Path, noisy: str, source: str, data: Path) -> list[str]:
            return [
                f"{edit} {flag} <{noisy} | {tokens(run, source)} >{made}/{name}.out"
                for name, flag in (("plain", "--min-confidence 0"), ("careful", ""))
            ]

        return edited
    model = train_corrector(run, table)
    decode = f"""{run.generate} --task text_correction -s noisy -t clean --path {model} --gen-subset test
        --beam {run.BEAM} --remove-bpe sentencepiece --max-tokens 4000"""
    ordered = "sort -t- -k2,2n | cut -f3"  # as the sources are; fairseq-generate prints short sentences first

    def decoded(made: Path, noisy: str, source: str, data: Path) -> list[str]:
        commands = []
        for name, flag in (("plain", ""), ("careful", f"$(cat {out}/sweep/best)")):
            generated = made / f"{name}.generated"
            commands += [
                f"{decode} {data} {flag} >{generated}",
                f"grep -a ^D- {generated} | {ordered} | {tokens(run, source)} >{made}/{name}.out",
            ]
        return commands

    return decoded


def tokens(run: Run, source: str) -> str:
    """What becomes of plain text is scored as tokens, as the references are."""
    return f"python {run.here}/tokens.py back {source}"


def tagger(run: Run) -> None:
    """GECToR's kind of system: EncT5 on a pre-trained encoder says what becomes of each word."""
    require(bool(run.TUNE and run.TEST_M2 and run.BACKBONE), "the goal tagger needs TUNE, TEST_M2 and BACKBONE")
    out, here = run.out, run.here
    question = "--label-kind tagging"
    run.stage(
        "tags",
        "",
        f"python {here}/tagger.py tags {out}/tags/text {run.TUNE} --most {run.TAGS}",
        f"""lev-plugins prepare-labels {question} --train {out}/tags/text/train.tsv --valid {out}/tags/text/valid.tsv
            --pretrained-tokenizer {run.BACKBONE} --dest {out}/tags/data""",
    )
    run.training(
        "tagger",
        "tags",
        f"""{run.trainer} {out}/tags/data --save-dir {out}/tagger --task text_labelling {question} --arch enct5
            --criterion labelling --backbone {run.BACKBONE} --optimizer scaled_adam --backbone-lr-factor 0.1
            {falling(0.001, 100, run.TAGGER_UPDATES)} --clip-norm 1 --max-tokens 1024 {run.every} --log-interval 50
            --seed {run.SEED} {run.TRAIN_FLAGS}""",
    )
    for gold in run.parts("TEST_M2"):
        folder = out / f"tagged_{Path(gold).stem}"
        commands = []
        for least in run.parts("LEAST"):
            corrected = f"{folder}/{least}.out"
            correct = f"{run.threads} python {here}/tagger.py correct {out}/tagger/checkpoint_last.pt --least {least}"
            commands += [
                f"{correct} {run.device} <{folder}/test.tokens >{corrected}",
                f"lev-plugins score m2 {corrected} {gold} >{folder}/least-{least}.m2.txt",
            ]
        run.stage(folder.name, "tagger", f"python {here}/texts.py source {gold} {folder}", *commands)
    run.show("", f"grep -Hm1 '' {out}/tagged_*/*.m2.txt")


def plan(run: Run) -> None:
    if run.goal == "tagger":
        run.begin("OUT", "LEAST THREADS")
        tagger(run)
        return
    run.begin("TEST OUT", "SYMSPELL THREADS")
    edits = run.ARCH == "levt"
    require(run.ERRANT != "yes" or bool(run.TEST_M2), "ERRANT=yes scores TEST_M2: give it too")
    further = not run.START or (edits and bool(run.TUNE))
    require(further, "START is an editor (ARCH=levt) to train further: give TUNE too")
    require(edits or bool(run.TUNE) or run.UPDATES != "0", "UPDATES=0 leaves nothing to train: give TUNE too")
    table, out, source = text(run), run.out, f"{run.TEST}/dev.src"

    spellers = editor.spellers(run)

    def spelled(made: Path, noisy: str, source: str) -> list[str]:
        return [f"{command} <{noisy} | {tokens(run, source)} >{made}/{name}.out" for name, command in spellers.items()]

    if spellers:
        run.stage("spellers", "texts", *spelled(out / "spellers", f"{out}/texts/test.noisy", source))

    references = " ".join(map(str, sorted(Path(run.TEST).glob("dev.ref?")))) or f"{run.TEST}/dev.ref0"
    corrected = systems(run, table)
    against = f"--against {out}/spellers/SymSpell.out" if edits and run.speller else ""

    def gleu(output: str, flags: str, name: str) -> str:
        return f"""lev-plugins score gleu {output} {references} --source {source} --draft {source} --bootstrap 1000
            --json {flags} >{out}/test/{name}.json"""

    scoring = [
        gleu(f"{out}/test/plain.out", "", "plain"),
        gleu(f"{out}/test/careful.out", against, "careful"),
        *(gleu(f"{out}/spellers/{name}.out", "", name) for name in spellers),
    ]
    trained = ("editor" if edits else "sweep") + (" spellers" if spellers else "")
    decoding = corrected(out / "test", f"{out}/texts/test.noisy", source, out / "data" / "data")
    run.stage("test", trained, *decoding, *scoring)
    errant = run.has(run.ERRANT, "errant", "en_core_web_sm")
    scorers = {"m2": "--by-kind"} | ({"errant": "--errant"} if errant else {})
    for gold in run.parts("TEST_M2"):
        folder = out / f"test_m2_{Path(gold).stem}"
        test = f"{folder}/test.noisy", f"{folder}/test.tokens"
        binarised = f"""lev-plugins prepare -s noisy -t clean --train-prefix {folder}/test --test-prefix {folder}/test
            {pieces(out)} --dest {folder}/data"""
        scores = [
            f"lev-plugins score m2 {folder}/{name}.out {gold} {flag} --json >{folder}/{name}.{scorer}.json"
            for name in ("plain", "careful", *spellers)
            for scorer, flag in scorers.items()
        ]
        run.stage(
            folder.name,
            trained,
            f"python {run.here}/texts.py source {gold} {folder}",
            "" if edits else binarised,
            *spelled(folder, *test),
            *corrected(folder, *test, folder / "data"),
            *scores,
        )
    run.show("report.md", f"python {run.here}/report.py {out} >{out}/report.md")


def sets(run: Run) -> dict[str, str]:
    """Those that the settings name."""
    folder = "data/wi-locness"
    return {"jfleg": run.TEST, **({"wi-locness": folder} if folder in run.TUNE + run.TEST_M2 else {})}


if __name__ == "__main__":
    sys.exit(main(__file__, "report tagger", plan, sets))
