"""``/v2``: LanguageTool's protocol, so that the editors people have can ask this server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lev_plugins.errors import require
from lev_plugins.json_schema import parse_object, shown
from lev_plugins.serving.annotated import Annotated, Part, Utf16
from lev_plugins.serving.context import EDIT, Context, Passage, Served
from lev_plugins.serving.languages import Language, find, of_setting
from lev_plugins.serving.limits import bearer, form_of, read_body
from lev_plugins.serving.matches import Match, as_dict, matches
from lev_plugins.text.edited import Edited
from lev_plugins.text.sentences import guess_language
from lev_plugins.version import __version__

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


# ---- a text ----------------------------------------------------------------------------------------------------------


async def check(request: Request) -> Response:
    context: Context = request.app.state.context
    form = await authorised_form(request)
    model, text = context.find(EDIT), annotated(form)
    language, detected = language_of(form, text.plain, model)
    chosen = chooser(form)
    for part in (text.original, text.plain):  # markup may be longer than what it stands for, and shorter
        context.check_length([Passage(part)])
    passage = Passage(text.plain, least=model.least, language=language.code, words=(context.words.protected,))
    (edited,) = await context.answers(request, model, [passage])
    shown = {"name": language.name, "code": language.long_code, "detectedLanguage": detected}
    about = {"software": SOFTWARE, "warnings": {"incompleteResults": False}, "language": shown}
    return JSONResponse(about | await asyncio.to_thread(places, text, edited, chosen))


def places(text: Annotated, edited: Edited, chosen: Callable[[Match], bool]) -> dict[str, Any]:
    """The matches, and where sentences are."""
    units, spans = Utf16(text.original), edited.sentences
    found = filter(chosen, matches(text, edited))
    ranges = [[units.before(text.original_place(place)) for place in span] for span in spans]
    return {"matches": [as_dict(match, text, units, spans) for match in found], "sentenceRanges": ranges}


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
    return language, {"name": language.name, "code": language.long_code, "confidence": sure, "source": source}


def chooser(form: dict[str, str]) -> Callable[[Match], bool]:
    """Without the rules and categories that a client turns off, or only those that it wants."""

    def listed(able: str) -> set[str]:
        names = ",".join(form.get(f"{able}{kind}", "") for kind in ("Rules", "Categories")).split(",")
        return {name.strip() for name in names} - {""}

    on, off = listed("enabled"), listed("disabled")
    only = form.get("enabledOnly", "").lower() in ("true", "yes")
    require(
        not only or (bool(on) and not off),
        "enabledOnly=true needs enabledRules or enabledCategories, and excludes disabledRules and disabledCategories",
    )

    def chosen(match: Match) -> bool:
        names = {match.rule.id, match.rule.category}
        return bool(names & on) or not (only or names & off)

    return chosen


# ---- what the server is and takes, and the user's own words ----------------------------------------------------------


def listed_languages(context: Context) -> list[dict[str, str]]:
    known = of_setting(context.find(EDIT).language)
    return [{"name": language.name, "code": language.code, "longCode": language.long_code} for language in known]


def word_of(form: dict[str, str]) -> str:
    require("word" in form, "Missing 'word' parameter")
    return form["word"]


ANSWERS: dict[str, tuple[list[str], Callable[[Context, dict[str, str]], Any]]] = {  # path: methods, what is answered
    "languages": (["GET", "POST"], lambda context, _: listed_languages(context)),
    "info": (["GET", "POST"], lambda context, _: {"software": SOFTWARE}),
    "maxtextlength": (["GET", "POST"], lambda context, _: context.limits.most_text),
    "words": (["GET"], lambda context, _: {"words": list(context.words.words)}),
    "words/add": (["POST"], lambda context, form: {"added": context.words.add(word_of(form))}),
    "words/delete": (["POST"], lambda context, form: {"deleted": context.words.delete(word_of(form))}),
}


def answering(answer: Callable[[Context, dict[str, str]], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        form = await authorised_form(request)
        return JSONResponse(await asyncio.to_thread(answer, request.app.state.context, form))

    return endpoint


ROUTES = [Route("/v2/check", check, methods=["GET", "POST"])]
ROUTES += [Route(f"/v2/{path}", answering(answer), methods=methods) for path, (methods, answer) in ANSWERS.items()]
