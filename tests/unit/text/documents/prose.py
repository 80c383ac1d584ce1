"""What tests of readers compare."""

from lev_plugins.text.documents.document import Reader
from lev_plugins.text.documents.formats import format_of


def prose(reader: Reader, text: str) -> list[str]:
    """Returns the parts of each paragraph, separated by |: what is not prose in angle brackets, and no blanks."""
    return [
        "|".join(
            text[start:end].strip() if is_prose else f"<{text[start:end]}>"
            for start, end, is_prose in parts
            if text[start:end].strip(" \ufeff")
        )
        for parts, *_ in reader(text)
    ]


def prose_of(name: str, text: str) -> list[str]:
    """Returns the parts of prose of a file of this name, as they are."""
    entry = format_of(name)
    assert entry
    return [text[start:end] for parts, *_ in entry.reader(text) for start, end, is_prose in parts if is_prose]
