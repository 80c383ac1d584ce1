"""What tests of readers compare."""

from lev_plugins.text.documents.document import Reader


def prose(reader: Reader, text: str) -> list[str]:
    """Returns the parts of each paragraph, separated by |: what is not prose in angle brackets, and no blanks."""
    return [
        "|".join(
            text[start:end].strip() if is_prose else f"<{text[start:end]}>"
            for start, end, is_prose in parts
            if text[start:end].strip(" \ufeff")
        )
        for parts, _ in reader(text)
    ]
