"""Download a published set, and convert it to the files that the examples read.

python examples/data.py NAME [DIR]      into DIR, or into data/NAME
python examples/data.py --list          names, licences and contents of all sets
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.published import fetching
from examples.published.making import make
from examples.published.sets import read_sets
from examples.shared import finish
from lev_plugins.cli.reporting import table
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import all_or_nothing_folder, require_free


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cache = "instead of downloading them to ~/.cache/lev-plugins/data (or lev-plugins/data in $XDG_CACHE_HOME)"
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="one of the sets that --list names")
    add("folder", metavar="DIR", nargs="?", type=Path, help="folder to create (default: data/NAME)")
    add("--from", dest="source", metavar="FOLDER", type=Path, help=f"take the published files from here, {cache}")
    add("--dry-run", action="store_true", help="only print what would be read or downloaded")
    add("--list", action="store_true", help="print the names, licences and contents of all sets")


def run(args: argparse.Namespace) -> None:
    sets = read_sets()
    if args.list:
        rows = [[published.name, published.licence, published.about] for published in sets.values()]
        print(*table([["name", "licence", "contents"], *rows]), sep="\n")
        return
    require(args.name in sets, f"NAME must be one of {', '.join(sets)} (see --list), but is {args.name}")
    published, folder = sets[args.name], args.folder or Path("data", args.name)
    require(
        bool(args.source or published.files),
        f"{args.name} cannot be downloaded by a program: get it from {published.at}, then use --from",
    )
    require_free(folder, "DIR")
    print(f"{published.name}: {published.about}\nlicence: {published.licence}", flush=True)
    if args.dry_run:
        for file in published.files:
            path = fetching.local_path(published, file, args.source)
            print(f"{path}: " + ("exists" if path.exists() else f"from {published.at}{file}"))
        return
    paths = fetching.fetch_files(published, args.source)
    with all_or_nothing_folder(folder) as scratch:
        make(published, paths, args.source, scratch)
    print(f"{folder} is complete: {len({name for part in published.parts for name in part.to})} files")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    return finish(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
