"""Prints what the installed lev-plugins with these extras and fairseq-fixed need, less fairseq-fixed and torchaudio.

Usage: ``python scripts/needs.py EXTRA...``

fairseq-fixed asks for torchaudio, which only its speech tasks import. The registry's torchaudio is built for the
CUDA torch: beside a CPU torch it cannot even be imported, so `make setup` leaves it out. Asking the installed
packages keeps their needs in one place, their own.
"""

import sys
from importlib.metadata import metadata, requires

from packaging.requirements import Requirement

LEFT_OUT = {"fairseq-fixed", "torchaudio"}


def needs(distribution: str, extra: str = "") -> set[str]:
    wanted = set()
    for line in requires(distribution) or []:
        requirement = Requirement(line)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if applies and requirement.name.lower() not in LEFT_OUT:
            requirement.marker = None
            wanted.add(str(requirement))
    return wanted


if __name__ == "__main__":
    known = set(metadata("lev-plugins").get_all("Provides-Extra") or ())
    if unknown := set(sys.argv[1:]) - known:
        sys.exit(f"setup: there is no extra {', '.join(sorted(unknown))}: EXTRAS can have {', '.join(sorted(known))}")
    ours = [needs("lev-plugins", extra) for extra in sys.argv[1:]]
    print("\n".join(sorted(set().union(*ours) | needs("fairseq-fixed"))))
