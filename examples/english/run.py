"""Train an editor of English that leaves alone what it does not know: see README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import editor
from examples.stages import Run, main
from lev_plugins.errors import require

PACKAGES = "numpy,scipy,sklearn,torch"
# beside the typos of examples/editor.py: letters that get a mark, typos of short words, and capitals that are lost
MORE_TYPOS = {"kind": f"{editor.SLIPS},accent:0.1", "short_words": "of,in,it,is,he,to", "lower_rate": 0.3}


def plan(run: Run) -> None:
    run.begin("TEXT OUT" + (" TEST" if run.TEST else ""), "SYMSPELL TEST THREADS")
    here, out, folder = run.here, run.out, run.out / "editor"
    text, other = out / "text", out / "other"
    typos, noise = (editor.typos(run, prefix, **MORE_TYPOS) for prefix in ("--", "--noise-"))
    run.stage(
        "text",
        "",
        f"""python {here}/text.py {text} --text {run.TEXT} {editor.frequencies(run.LIST)}
            --copies {run.number("COPIES")}""",
        f"lev-plugins noise {typos} --seed 2 <{text}/valid.clean >{text}/valid.noisy",
        f"cp {text}/valid.noisy {text}/valid.draft",
    )
    run.stage(
        "other",
        "",
        f"head -n 2000 {run.OTHER} >{other}/clean"
        if run.OTHER
        else f"""python {run.examples}/demo/corpus.py {other}/docstrings --packages {PACKAGES} &&
            head -n 2000 {other}/docstrings/train.txt >{other}/clean""",
        f"lev-plugins noise {typos} --seed 3 <{other}/clean >{other}/noisy",
    )
    run.stage(
        "data",
        "text",
        f"""{editor.PREPARE} --clean-dictionary -s noisy -t clean --srcdict {text}/dict.txt --clean-train --train-prefix
            {text}/train --valid-prefix {text}/valid --dest {out}/data/bin""",
    )
    run.training(
        "model",
        "data",
        f"""{editor.training(run, run.number("UPDATES"), run.TOKENS, run.LR, "0")} {out}/data/bin -s noisy -t clean
            --seed {run.SEED} {noise} --noise-share {editor.SHARE} --num-workers 1 --save-dir
            {out}/model""",
    )
    valid = (text / "valid.noisy", text / "valid.clean")
    promise = f"""--calibrate {other}/noisy {other}/clean --clean {text}/unexpected.clean
        --promise-broken {run.PROMISE} --words {text}/chat.txt {run.EXPORT}"""
    made = editor.folder(run, out / "model", out / "data" / "bin", folder, *valid, promise)
    run.stage("export", "model other", made)
    run.show("report.md", *scores(run, folder), f"python {here}/report.py {out} >{out}/report.md")


def sets(run: Run) -> dict[str, str]:
    """Those that TEXT and TEST name, if they do not name others."""
    folders = {name: f"data/{name}" for name in ("news-commentary", "misspellings")}
    return {name: folder for name, folder in folders.items() if folder in f"{run.TEXT} {run.TEST}"}


def scores(run: Run, folder: Path) -> list[str]:
    """What the editor and SymSpell do to the clean and the misspelt text of each kind in TEST."""
    tests = sorted(Path(run.TEST).glob("*.clean")) if run.TEST else []
    require(not run.TEST or bool(tests) or run.dry, f"TEST: {run.TEST} has no KIND.clean, with KIND.typos beside it")
    systems = {"editor": f"lev-plugins edit {folder}", **editor.spellers(run)}
    commands = []
    for system, command in systems.items():
        made = run.out / "test" / system
        commands.append(f"mkdir -p {made}")
        for clean in tests:
            typos, name = clean.with_suffix(".typos"), made / clean.stem
            commands += [f"{command} <{path} >{name}{path.suffix}" for path in (clean, typos)]
            score = f"lev-plugins score harm {name}"
            commands.append(f"{score}.clean {clean} --json >{name}.clean.json")
            commands.append(f"{score}.typos {clean} --source {typos} --json >{name}.typos.json")
    return commands


if __name__ == "__main__":
    sys.exit(main(__file__, "report", plan, sets))
