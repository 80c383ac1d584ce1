"""``/v2``: LanguageTool's protocol, so that the editors people have can ask this server."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from lev_plugins import __version__
from lev_plugins.errors import require
from lev_plugins.json_schema import parse_object, shown
from lev_plugins.serving.annotated import Annotated, Part, Utf16
from lev_plugins.serving.context import EDIT, Context, Passage, Served
from lev_plugins.serving.languages import Language, find, of_setting
from lev_plugins.serving.limits import bearer, form_of, read_body
from lev_plugins.serving.matches import Match, as_dict, matches
from lev_plugins.serving.words import Protected, untouched
from lev_plugins.text.edited import Edited
from lev_plugins.text.sentences import guess_language

SOFTWARE = {
    "name": "lev-plugins",
    "version": __version__,
    "buildDate": "",
    "apiVersion": 1,
    "premium": False,
    "status": "",
}
GUESSED = 0.5  # confidence of a language that only its script tells
KEYS = ("text", "markup", "interpretAs")  # of a part of annotated text
MOST_LISTED = 100_000  # words in one answer


# ---- a text ----------------------------------------------------------------------------------------------------------


async def check(request: Request) -> Response:
    context: Context = request.app.state.context
    form = await authorised_form(request)
    model, text = context.find(EDIT), annotated(form)
    language, detected = language_of(form, text.plain, model)
    rules = RuleChoice(form)
    for part in (text.original, text.plain):  # markup may be longer than what it stands for, and shorter
        context.check_length([Passage(part)])
    passage = Passage(text.plain, least=model.least, language=language.code)
    (edited,) = await context.answers(request, model, [passage])
    shown = {"name": language.name, "code": language.long_code, "detectedLanguage": detected}
    about = {"software": SOFTWARE, "warnings": {"incompleteResults": False}, "language": shown}
    return JSONResponse(about | await asyncio.to_thread(places, text, edited, context.words.protected, rules))


def places(text: Annotated, edited: Edited, words: Protected, rules: RuleChoice) -> dict[str, Any]:
    """The matches, and where sentences are."""
    protected, units, spans = words.spans(text.plain), Utf16(text.original), edited.sentences
    edits = untouched(edited, protected).edits
    chosen = [match for match in matches(text, edits, protected) if rules.chosen(match)]
    ranges = [[units.before(text.original_place(place)) for place in span] for span in spans]
    return {"matches": [as_dict(match, text, units, spans) for match in chosen], "sentenceRanges": ranges}


async def authorised_form(request: Request) -> dict[str, str]:
    """The fields of the query and of the body; the token may be the one called apiKey."""
    context: Context = request.app.state.context
    form = form_of(request.scope["query_string"], "the query")
    if request.method == "POST":
        form |= form_of(await read_body(request, context.limits), "the form")
    context.access.check_token(bearer(request), form.get("apiKey"))
    return form


def annotated(form: dict[str, str]) -> Annotated:
    require("text" in form or "data" in form, "Missing 'text' or 'data' parameter")
    require(not ("text" in form and "data" in form), "'text' and 'data' exclude each other: send only one of them")
    if "text" in form:
        return Annotated([Part(form["text"], form["text"])])
    data = parse_object(form["data"].encode(), "data")
    parts = data.get("annotation", [data])
    require(isinstance(parts, list), "data.annotation must be a list")
    return Annotated([part_of(part, f"data.annotation[{i}]") for i, part in enumerate(parts)])


def part_of(entries: Any, name: str) -> Part:
    """Some clients send an offset, too."""
    texts = {key: text for key, text in entries.items() if key in KEYS} if isinstance(entries, dict) else {}
    require(
        sorted(texts) in (["text"], ["markup"], ["interpretAs", "markup"])
        and all(isinstance(text, str) for text in texts.values()),
        f"{name} must have either a text, or markup and perhaps interpretAs, but is {shown(entries)}",
    )
    if "text" in texts:
        return Part(texts["text"], texts["text"])
    return Part(texts.get("interpretAs", ""), texts["markup"], text=False)


def language_of(form: dict[str, str], text: str, model: Served) -> tuple[Language, dict[str, Any]]:
    """What the client says, and what is told of it; ``auto``: the model's own, or guessed by the script."""
    require(bool(form.get("language")), "Missing 'language' parameter, e.g. 'language=en-US', or 'language=auto'")
    known = of_setting(model.language)
    if form["language"] != "auto":
        language, sure, source = find(form["language"], known), 1.0, "request"
    elif model.language is not None:
        language, sure, source = known[0], 1.0, "setting"
    else:
        language, sure, source = find(guess_language(text), known), GUESSED, "script"
    detected = {"name": language.name, "code": language.long_code, "confidence": sure, "source": source}
    return language, detected


class RuleChoice:
    """Rules and categories that a client turns off, or those that alone it wants."""

    def __init__(self, form: dict[str, str]):
        self.off = {kind: listed(form.get(f"disabled{kind}", "")) for kind in ("Rules", "Categories")}
        self.on = {kind: listed(form.get(f"enabled{kind}", "")) for kind in ("Rules", "Categories")}
        self.only = form.get("enabledOnly", "").lower() in ("true", "yes")
        require(
            not (self.only and any(self.off.values())),
            "enabledOnly=true excludes disabledRules and disabledCategories: leave these out",
        )
        require(not self.only or any(self.on.values()), "enabledOnly=true needs enabledRules or enabledCategories")

    def chosen(self, match: Match) -> bool:
        names = {"Rules": match.rule.id, "Categories": match.rule.category}
        on = any(names[kind] in each for kind, each in self.on.items())
        off = any(names[kind] in each for kind, each in self.off.items())
        return on if self.only else on or not off


def listed(value: str) -> set[str]:
    return {name.strip() for name in value.split(",") if name.strip()}


# ---- what the server is and takes ------------------------------------------------------------------------------------


async def languages(request: Request) -> Response:
    await authorised_form(request)
    known = of_setting(request.app.state.context.find(EDIT).language)
    return JSONResponse([language.as_dict() for language in known])


async def info(request: Request) -> Response:
    await authorised_form(request)
    return JSONResponse({"software": SOFTWARE})


async def max_text_length(request: Request) -> Response:
    await authorised_form(request)
    return PlainTextResponse(str(request.app.state.context.limits.most_text))


# ---- the user's own words --------------------------------------------------------------------------------------------


async def words(request: Request) -> Response:
    form = await authorised_form(request)
    start, count = (whole_number(form, *each) for each in (("offset", 0), ("limit", 10)))
    return JSONResponse({"words": list(request.app.state.context.words.words)[start : start + count]})


async def add_word(request: Request) -> Response:
    form = await authorised_form(request)
    return JSONResponse({"added": await asyncio.to_thread(request.app.state.context.words.add, word_of(form))})


async def delete_word(request: Request) -> Response:
    form = await authorised_form(request)
    return JSONResponse({"deleted": await asyncio.to_thread(request.app.state.context.words.delete, word_of(form))})


def word_of(form: dict[str, str]) -> str:
    require("word" in form, "Missing 'word' parameter")
    return form["word"]


def whole_number(form: dict[str, str], name: str, default: int) -> int:
    given = form.get(name, str(default))
    good = given.isascii() and given.isdigit() and len(given) < len(str(MOST_LISTED))
    require(good, f"{name} must be a whole number below {MOST_LISTED:,}, but is {given!r}")
    return int(given)
