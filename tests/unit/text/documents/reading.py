"""What tests of readers share."""

from lev_plugins.text.documents.formats import format_of


def prose_of(name: str, text: str) -> list[str]:
    """Returns the parts of prose of a file of this name."""
    entry = format_of(name)
    assert entry
    return [text[part.start : part.end] for found in entry.reader(text) for part in found.parts if part.prose]
