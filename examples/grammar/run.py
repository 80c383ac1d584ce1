"""Train a small corrector of English grammar on clean text with synthetic mistakes: see README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import editor
from examples.stages import Run, falling, main
from lev_plugins.errors import require


def text(run: Run) -> str:
    """Clean on both sides of train, where mistakes are made while training; those of valid stay the same.

    Returns the table of confusions.
    """
    here, out = run.here, run.out / "texts"
    corpus = f"python {run.examples}/demo/corpus.py {out}/docstrings --packages numpy,scipy,sklearn,torch"
    table = run.CONFUSIONS or f"{out}/confusions.tsv"
    learned = f"python {here}/inflections.py {here}/confusions.tsv {out}/train.clean >{out}/confusions.tsv"
    confused = f"--confusions={table}" if "confusions" in run.NOISE else ""  # only this kind takes a table
    run.stage(
        "texts",
        "",
        "" if run.TEXT else corpus,
        f"python {here}/texts.py split {run.TEXT or f'{out}/docstrings'} {out} --sentences {run.SENTENCES}",
        "" if run.CONFUSIONS else learned,
        f"""lev-plugins noise --kind {run.NOISE} --word-rate {run.WORD_RATE} --seed {run.number("SEED") + 1} {confused}
            <{out}/valid.clean >{out}/valid.noisy""",
        f"python {here}/tokens.py plain <{run.TEST}/dev.src >{out}/test.noisy",
        f"python {here}/tokens.py plain <{run.TEST}/dev.ref0 >{out}/test.clean",
    )
    return table


def noise(run: Run, table: str) -> str:
    confused = f"--noise-confusions={table}" if "confusions" in run.NOISE else ""
    return f"--noise-kind {run.NOISE} --noise-word-rate {run.WORD_RATE} {confused}"


def train_editor(run: Run, table: str) -> None:
    """On the words of the text and of a frequency list; the noisy text is the draft as well."""
    words, out = run.out / "words" / "text", run.out
    listed = f"--list {run.LIST}" if run.LIST else ""
    run.stage(
        "words",
        "texts",
        f"python {run.here}/widen.py {out}/texts/train.clean {out}/words --most {run.WORDS} --least 2 {listed}",
        f"mkdir -p {words}",
        f"cp {out}/texts/{{train,valid,test}}.* {words}",
        f"for side in noisy draft clean; do cp {out}/words/words {words}/list.$side; done",
        f"for split in train valid test; do cp {words}/$split.noisy {words}/$split.draft; done",
        f"""{editor.PREPARE} -s noisy -t clean --tgtdict {out}/words/dict.txt --clean-train --train-prefix {words}/train
            --extra-train-prefix {words}/list --valid-prefix {words}/valid --test-prefix {words}/test --dest
            {out}/words/bin""",
    )
    run.training(
        "levt",
        "words",
        f"""{editor.training(run, run.number("LEVT_UPDATES"), run.LEVT_TOKENS, run.LEVT_LR, run.DROPOUT)}
            {out}/words/bin -s noisy -t clean {noise(run, table)} --seed {run.SEED} --save-dir {out}/levt
            {run.TRAIN_FLAGS}""",
    )
    files = (words / "valid.noisy", words / "valid.clean")
    run.stage(
        "editor",
        "levt",
        editor.folder(run, out / "levt", out / "words" / "bin", out / "editor/folder", *files, "--best gleu"),
    )


def train_corrector(run: Run, table: str) -> tuple[Path, str]:
    """On synthetic mistakes (train), then on real ones (tune). Returns the last checkpoint, and flags of its pieces."""
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
            f"""lev-plugins average {folder} --last $(ls {folder}/checkpoint_*_*.pt | wc -l) --by-updates
                --output {folder}/average.pt""",
        )

    spelling = f"--bpe sentencepiece --sentencepiece-model {data}/sentencepiece.model"
    more = f"{noise(run, table)} --noise-seed {run.SEED} {spelling}"
    pieces = f"--joined-dictionary --srcdict {data}/dict.noisy.txt --sentencepiece-model {data}/sentencepiece.model"
    prepare = f"lev-plugins prepare -s noisy -t clean {pieces}"
    real = out / "tune_data"
    if run.TUNE:  # M2 files; the last hundredth validates
        run.stage(
            "tune_data",
            "data",
            f"python {run.here}/texts.py pairs {real}/text {run.TUNE}",
            f"""{prepare} --train-prefix {real}/text/train --valid-prefix {real}/text/valid --dest {real}/data""",
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
    last, text = out / "train", data
    if run.TUNE:
        text = real / "data"
        start = f"--finetune-from-model {out}/train/average.pt" if run.number("UPDATES") else ""
        after = "tune_data train" if start else "tune_data"
        training("tune", after, text, run.TUNE_LR, "TUNE_UPDATES", start)
        last = out / "tune"
    run.stage(
        "sweep",
        last.name,
        f"""{run.threads} lev-plugins sweep {text} --path {last}/average.pt --json --keep-bias={run.KEEP_BIASES}
            --post-process sentencepiece --beam {run.BEAM} {run.device} >{out}/sweep/sweep.json""",
    )
    return last / "average.pt", pieces


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
    require(not (edits and (run.TUNE or run.TEST_M2)), "TUNE and TEST_M2 do not work with ARCH=levt: leave them out")
    require(not run.ERRANT or bool(run.TEST_M2), "ERRANT=yes scores TEST_M2: give it too")
    require(edits or bool(run.TUNE) or run.UPDATES != "0", "UPDATES=0 leaves nothing to train: give TUNE too")
    table, out, source = text(run), run.out, f"{run.TEST}/dev.src"

    def tokens(path: str) -> str:
        """What becomes of plain text is scored as tokens, as the references are."""
        return f"python {run.here}/tokens.py back {path}"

    if run.speller:
        symspell = f"python {run.examples}/denoising/symspell.py --list {run.LIST}"
        run.stage(
            "symspell",
            "texts",
            *(
                f"{symspell} {flag} <{out}/texts/test.noisy | {tokens(source)} >{out}/symspell/{name}.out"
                for name, flag in (("test", ""), ("careful", "--careful"))
            ),
        )

    # the test: as the model decodes (plain), and with the values that the validation set has chosen (careful)
    references = " ".join(map(str, sorted(Path(run.TEST).glob("dev.ref?")))) or f"{run.TEST}/dev.ref0"
    dial = f"dial=$(python {run.here}/dial.py {out}/sweep/sweep.json)"  # in a command, its failure would not count
    against = ""
    if edits:
        train_editor(run, table)
        edit = f"lev-plugins edit {out}/editor/folder <{out}/texts/test.noisy"
        decoding = [
            f"{edit} {flag} | {tokens(source)} >{out}/test/{name}.out"
            for name, flag in (("plain", "--min-confidence 0"), ("careful", ""))
        ]
        against = f"--against {out}/symspell/test.out" if run.speller else ""
    else:
        model, pieces = train_corrector(run, table)

        def decode(data: Path) -> str:
            return f"""{run.generate} {data} --task text_correction -s noisy -t clean --path {model} --gen-subset test
                --beam {run.BEAM} --remove-bpe sentencepiece --max-tokens 4000"""

        def hypotheses(generated: Path, sources: str, output: Path) -> str:
            """In the order of the sources; fairseq-generate prints short sentences first."""
            return f"grep -a ^D- {generated} | sort -t- -k2,2n | cut -f3 | {tokens(sources)} >{output}"

        decoding = [dial]
        for name, flag in (("plain", ""), ("careful", "$dial")):
            generated = out / "test" / f"{name}.generated"
            decoding += [
                f"{decode(out / 'data' / 'data')} {flag} >{generated}",
                hypotheses(generated, source, out / "test" / f"{name}.out"),
            ]

    def gleu(output: str, flags: str, name: str) -> str:
        return f"""lev-plugins score gleu {output} {references} --source {source} --draft {source} --bootstrap 1000
            --json {flags} >{out}/test/{name}.json"""

    scoring = [
        gleu(f"{out}/test/plain.out", "", "plain"),
        gleu(f"{out}/test/careful.out", against, "careful"),
        gleu(f"{out}/symspell/test.out", "", "symspell") if run.speller else "",
        gleu(f"{out}/symspell/careful.out", "", "symspell-careful") if run.speller else "",
    ]
    trained = "editor" if edits else "sweep"
    run.stage("test", f"{trained} symspell" if run.speller else trained, *decoding, *scoring)
    for gold in run.parts("TEST_M2"):
        folder = out / f"test_m2_{Path(gold).stem}"
        commands = [dial]
        for name, flag in (("plain", ""), ("careful", "$dial")):
            score = f"lev-plugins score m2 {folder}/{name}.out {gold}"
            commands += [
                f"{decode(folder / 'data')} {flag} >{folder}/{name}.generated",
                hypotheses(folder / f"{name}.generated", f"{folder}/test.tokens", folder / f"{name}.out"),
                f"{score} >{folder}/{name}.m2.txt",
                f"{score} --errant >{folder}/{name}.errant.txt" if run.ERRANT else "",
            ]
        run.stage(
            folder.name,
            "sweep",
            f"python {run.here}/texts.py source {gold} {folder}",
            f"""lev-plugins prepare -s noisy -t clean --train-prefix {folder}/test --test-prefix {folder}/test {pieces}
                --dest {folder}/data""",
            *commands,
        )
    run.show("report.md", f"python {run.here}/report.py {out} >{out}/report.md")


if __name__ == "__main__":
    sys.exit(main(__file__, "report tagger", plan, lambda run: {"jfleg": run.TEST}))
