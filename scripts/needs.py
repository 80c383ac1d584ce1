"""Prints what the installed lev-plugins with all extras and fairseq-fixed need, less fairseq-fixed and torchaudio.

fairseq-fixed asks for torchaudio, which only its speech tasks import. The registry's torchaudio is built for the
CUDA torch: beside a CPU torch it cannot even be imported, so `make setup` leaves it out. Asking the installed
packages keeps their needs in one place, their own.
"""

from importlib.metadata import requires

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
    extras = ("train", "dev", "pretrained", "plot", "serve", "lsp", "check", "baselines", "errant")
    ours = [needs("lev-plugins", extra) for extra in extras]
    print("\n".join(sorted(set().union(*ours) | needs("fairseq-fixed"))))
