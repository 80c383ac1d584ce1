"""Small published sets: invented texts in the formats of the real files."""

import io
import json
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from examples.published.sets import PublishedSet

TSV_ROWS = "".join("\t".join(f" {name}{i} " for i in range(10)) + "\r\n" for name in ("head", "a", "b"))
LAW_JSON = """{"header": "On\\nfish", "recitals": "Whereas", "main_body": ["fish", "swim,"], "concepts": ["%d", "7"]}"""
PROSE = """---
title: No. It is a title.
---

# A heading is left out.

See [the *map*](https://host/map_(1).html){{ page }} of it. We [read `it`]({{ "/it/" | url }}) at
Dr.&nbsp;Bell&rsquo;s, and more.
- **We list things.** Each is _said (once)_. Each is said (once). Too short.
> A quote goes on
> below. it begins small. A ____ is empty. https://host/ has more. This one has no end

| A table | is left out. |
```
Code is left out.
```
<section id="one"><!-- No comment. --><p>“So I am. Very much so,” said <abbr>Mr.</abbr> Bell.</p>
<p>It was⁠—all of it.</p>
"""
TURNS = ["Hi, is it open?", "yes it is now.", "Hi, is it open?", "No, we are <br />closed. Ask again later!"]
TAGGED_ROWS = "".join(  # ten columns
    "\t".join([*row, *["_"] * (10 - len(row))]) + "\n"
    for row in (("1", "I", "i", "PRON"), ("2-3", "don't"), ("2", "do", "do", "AUX"), ("3", "n't", "not", "PART"))
)
FORMATS = {  # conversion -> contents of a file, in which SOURCE becomes the file's name
    "aligned_lines": "first SOURCE \r\n\r\nlast SOURCE\n",
    "pairs": "<t> first   SOURCE </t>\n\n<t> last SOURCE </t>\n",
    "documents": "first SOURCE \n\nlast SOURCE\n",
    "segments": '<doc docid="x">\n<seg id="1"> first SOURCE </seg>\n<seg id="2">last SOURCE</seg>\n</doc>\n',
    "columns": "It works!\t3,4\tid1\t\nNo.\t27\tid2\t\n",
    "headed_columns": TSV_ROWS,
    "tables": 'id,text\r\n0,"first SOURCE,\nits end"\r\n1,""\r\n2,last SOURCE\r\n',
    "mrpc": f"\ufeff{TSV_ROWS}",
    "corrections": "S a cat sit\nA 2 3|||SVA|||sits|||REQUIRED|||-NONE-|||0\n"
    "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1\n",
    "tags": f"# text = I don't.\n{TAGGED_ROWS}\n",
    "misread_words": 'S : S\n0 : -\nm : in\n\n"0" : o\n^ : 0\n\n',
    # typo, word, operation, its letters, the contexts of both
    "mistyped_words": "".join(f"wrod{i}\tword{i}\tREPLACE1\tor\ta_wrod(1)\ta_word(9)\n" for i in range(8010)),
    "scans": "\ufeff[OCR_toInput] Tbe c t sat\n[OCR_aligned] Tbe c t s@at\n[ GS_aligned] The ### slat\n",
    "reviews": "Good.<br />Very  good.",
    "laws": LAW_JSON % 12,
    "concepts": LAW_JSON % 12,
    "prose": PROSE,
    "dialogues": json.dumps([{"utterances": [{"speaker": "user", "text": text} for text in TURNS]}]),
}


def invented(conversion: str, path: str) -> str:
    if path.endswith("dev_ids.tsv"):
        return "b1\tb2\n"
    return FORMATS[conversion].replace("SOURCE", Path(path).name)


def publish(
    published: PublishedSet, folder: Path, text_of: Callable[[str, str], str] = invented, documents: int = 1
) -> Path:
    """Writes the files and archives of the set, with ``documents`` files where it has one per document."""
    archives: dict[str, dict[str, bytes]] = defaultdict(dict)
    for part in sorted(published.parts, key=lambda part: part.conversion[0] != "aligned_lines"):
        for file, pattern in part.of:
            file_name = pattern.replace("**/", "top/").replace("t*", "train").replace("[np]*", "pos") or file
            for number in range(documents if "/*." in file_name else 1):
                path = file_name.replace("*", str(number + 1))
                archives[file if pattern else ""][path] = text_of(part.conversion[0], path).encode()
    for path, content in archives.pop("", {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    for file, members in archives.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        write_archive(folder / file, members)
    return folder


def write_archive(path: Path, members: dict[str, bytes]) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
