"""Train an editor that repairs typos, and show its edits: see README.md."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import editor
from examples.stages import ROOT, Run, main

TOKENS = "2500"
PROMISE = 14  # words of 1,000 right ones that it may break in held-out text with many unexpected words
RATE = 0.2  # share of the words with typos, in training and in held-out sentences


def plan(run: Run) -> None:
    run.values |= {"GPUS": "0"} | ({"THREADS": "1"} if os.cpu_count() == 1 else {})
    run.begin("OUT", "SYMSPELL THREADS")
    here, text, model_folder = run.here, run.out / "text", run.out / "editor"
    titles = iter(f"[{number}/{7 if run.speller else 6}]" for number in range(1, 8))

    def stage(name: str, after: str, title: str, *commands: str, continues: bool = False) -> None:
        run.stage(name, after, *commands, continues=continues, title=f"{next(titles)} {title}")

    code = (path for folder in (ROOT / "lev_plugins", Path(__file__).parent) for path in folder.rglob("*.py"))
    stamp = run.out / "corpus" / "done"
    if stamp.is_file() and stamp.stat().st_mtime < max(path.stat().st_mtime for path in code):
        stamp.unlink()  # all is made again by the new code
    stage(
        "corpus",
        "",
        "collect English sentences from the docstrings of installed packages",
        f"python {run.examples}/english/corpus.py {text} --packages '{run.PACKAGES}' --sentences {run.SENTENCES}",
    )
    # in validation and test text, one word in five; training makes its own typos, and none of these is among them
    stage(
        "text",
        "corpus",
        "put unexpected words into the training text, misspell words of the held-out sentences",
        f"""python {run.examples}/english/text.py {text} --text {text}/train.txt --valid {text}/valid.txt
            {editor.frequencies()} --rare-words --occurrences 1 --listed 45000""",
        f"""lev-plugins noise {editor.typos(run, word_rate=RATE)} --seed 4
            <{text}/unexpected.clean >{text}/unexpected.noisy""",
        f"cp {text}/test.txt {text}/test.clean",
        f"""for split in valid test; do
            python {run.examples}/english/typos.py {text}/$split.clean {text}/$split.noisy --train {text}/train.clean
            --updates {run.UPDATES} --tokens {TOKENS} --rate {RATE};
            cp {text}/$split.noisy {text}/$split.draft; done""",
    )
    stage(
        "data",
        "text",
        "cut the text into words and binarise it",
        editor.prepared(text, run.out / "data" / "bin", f"--test-prefix {text}/test"),
    )
    stage(
        "model",
        "data",
        f"train a Levenshtein Transformer, {run.UPDATES} updates, {run.THREADS} thread(s)",
        f"""{editor.training(run, run.number("UPDATES"), TOKENS, "0.002", "0")} {run.out}/data/bin -s noisy -t clean
            --seed 1 {editor.typos(run, "--noise-", word_rate=RATE)} --noise-share {editor.SHARE}
            --save-dir {run.out}/model --log-format json 2>&1 | python {here}/progress.py""",
        continues=True,
    )
    stage(
        "export",
        "model",
        f"make a model folder, {model_folder}",
        editor.folder(
            run,
            run.out / "model",
            run.out / "data" / "bin",
            model_folder,
            text / "valid.noisy",
            text / "valid.clean",
            f"""--calibrate {text}/unexpected.noisy {text}/unexpected.clean --clean {text}/unexpected.clean
                --promise-broken {PROMISE}""",
        ),
    )
    stage(
        "edited",
        "export",
        "edit the held-out sentences",
        f"lev-plugins edit {model_folder} --json <{text}/test.noisy >{run.out}/edited/test.json",
    )
    if run.speller:
        symspell = f"python {run.examples}/denoising/symspell.py --words {text}/train.clean <{text}/test.noisy"
        title = "edit them with SymSpell, for comparison"
        stage("symspell", "edited", title, f"{symspell} >{run.out}/symspell/test.out")
    run.show(
        "report.txt",
        f"""python {here}/report.py {text}/test.clean {text}/test.noisy {run.out}/edited/test.json {text}/train.clean
            {f"--symspell {run.out}/symspell/test.out" * run.speller} --editor {model_folder} >{run.out}/report.txt""",
    )


if __name__ == "__main__":
    sys.exit(main(__file__, "report", plan))
