"""Train an editor of English that leaves alone what it does not know: see README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import editor
from examples.stages import Run, main
from lev_plugins.errors import require

# beside the typos of examples/editor.py: letters that get a mark, typos of short words, and capitals that are lost
MORE_TYPOS = {"kind": f"{editor.SLIPS},accent:0.1", "short_words": "of,in,it,is,he,to", "lower_rate": 0.3}


def plan(run: Run) -> None:
    run.begin("TEXT OUT" + (" TEST" if run.TEST else ""), "SYMSPELL TEST THREADS")
    here, out, folder = run.here, run.out, run.out / "editor"
    text, typos = out / "text", f"lev-plugins noise {editor.typos(run, **MORE_TYPOS)}"
    run.stage("text", "", *editor.written(run, text, f"--text {run.TEXT}", typos, 2))
    promise = editor.promise(run, "", text, typos, 3, run.OTHER)
    run.stage("data", "text", editor.prepared(text, out / "data" / "bin"))
    run.training(
        "model",
        "data",
        f"""{editor.training(run, run.number("UPDATES"), run.TOKENS, run.LR, "0")} {out}/data/bin -s noisy -t clean
            --seed {run.SEED} {editor.typos(run, "--noise-", **MORE_TYPOS)} --noise-share {editor.SHARE} --num-workers 1
            --save-dir {out}/model""",
    )
    valid = (text / "valid.noisy", text / "valid.clean")
    made = editor.folder(run, out / "model", out / "data" / "bin", folder, *valid, f"{promise} {run.EXPORT}")
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
