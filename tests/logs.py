"""Logs of ``fairseq-generate --retain-iter-history --print-step``."""


def logged(number: int, source: str, reference: str, *hypotheses: tuple[str, ...]) -> str:
    """Returns the lines of a sentence; a hypothesis has a score, a text and states."""
    lines = [f"S-{number}\t{source}", f"T-{number}\t{reference}"]
    for score, text, *states in hypotheses:
        lines += [
            f"H-{number}\t{score}\t{text}",
            f"D-{number}\t{score}\t{text}",
            f"P-{number}\t{score}" + f" {score}" * len(text.split()),
        ]
        lines += [f"I-{number}\t{(len(states) - 1) // 3 - 1}"]
        lines += [f"E-{number}_{step}\t{state}" for step, state in enumerate(states)]
    return "".join(f"{line}\n" for line in lines)


# batch by batch, so in no order: from nothing in two iterations; a draft that is kept; two candidates, one in circles
FROM_NOTHING = ["", "", "<plh> <plh>", "house house", "house", "<plh> house", *["a house"] * 4]
LOG = "2026-01-01 00:00:00 | INFO | fairseq_cli.generate | loading model(s) from levt.pt\n"
LOG += logged(11, "ein Haus", "a house", ("-0.5", "a house", *FROM_NOTHING))
LOG += logged(3, "die Katze", "the cat", ("0.0", "the cat", *["the cat"] * 4))
CIRCLES = ["", "", "<plh> <plh>", "y y", "y", "y", "y y"]
LOG += logged(20, "x", "y", ("-1.0", "y", "", "", "<plh>", "y"), ("-2.0", "y y", *CIRCLES))
LOG += "2026-01-01 00:00:00 | INFO | fairseq_cli.generate | Translated 3 sentences\n"
LOG += "Generate test with beam=5: BLEU4 = 100.00\n"
