"""The prose of LaTeX."""

import pytest

from tests.helpers import growth
from tests.unit.text.documents.prose import prose_of

SNIPPETS = [
    (r"Some \emph{good} text.", ["Some ", "good", " text."]),
    (
        "\\documentclass{article}\n\\title{A \\emph{b}}\\author{C}\n\\begin{document}\nYes\n\\end{document}\nno",
        ["A ", "b", "Yes"],
    ),
    ("\\section[no]{Yes}\\label{no}\nGo % no\non.\n% no", ["Yes", "Go ", "on."]),
    (r"A $x$, \(y\), $$z$$ and \[w\] end", ["A ", ", ", ", ", " and ", " end"]),
    (r"A $x \text{ if $y$ no} no$ end", ["A ", " end"]),
    ("A $no\n\nyes", ["A ", "yes"]),
    (r"A $x$$y$ end", ["A ", " end"]),
    (r"\begin{equation}no\end{equation}\begin{align*}no\end{align*}yes", ["yes"]),
    (r"\begin{tikzpicture}\begin{tikzpicture}no\end{tikzpicture}no\end{tikzpicture}yes", ["yes"]),
    (r"\begin{verbatim}no $ { \end{verbatim}\begin{tabular}{no}a & b \\[2pt] c\end{tabular}", ["a ", " b ", " c"]),
    (r"\verb|no $| \lstinline[no]{no} \url{no%no} \href{no%}{yes}", [" ", " ", " ", "yes"]),
    (r"Erd\H{o}s, caf{\'e}, M\"uller, M\"{u}ller and Stra{\ss}e are names", [", ", ", ", ", ", " and ", " are names"]),
    ("\\newcommand{\\a}%\n  [1]{no #1} \\def\\b#1{no} yes", [" ", " yes"]),
    (r"\foo[a[b]no]{no}yes", ["yes"]),
    (r"50\% of \LaTeX\ and ``this''", ["50", " of ", "and ", "this"]),
    (r"\item[no] First\item Other \vskip 3pt plus 1fil end", [" First", " Other ", " end"]),
    (r"\textcolor{no}{yes} \input no.no yes", ["yes", " ", " yes"]),
    (r"{\tt no} yes \begin{quote}\ttfamily\a{no} no\end{quote}yes", [" yes ", "yes"]),
    (r"} a } {b", [" a ", " ", "b"]),
]


@pytest.mark.parametrize("text, prose", SNIPPETS)
def test_prose_of_latex(text: str, prose: list[str]) -> None:
    assert prose_of("a.tex", text) == prose


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "}",
        "[",
        "$",
        "$ a",
        "\\(",
        "\\[",
        "\\x[",
        "\\emph{",
        "\\",
        "\\'",
        "%",
        "\\verb|",
        "\\begin{equation}",
        "\\foo ",
        "a\n \n",
    ],
)
def test_time_of_broken_latex_is_linear(unit: str) -> None:
    assert growth(lambda size: prose_of("a.tex", unit * size), 2_000) < 10


def test_time_of_a_long_dimension_is_linear() -> None:
    assert growth(lambda size: prose_of("a.tex", "\\foo" + " " * size + "1" * size), 2_000) < 10
