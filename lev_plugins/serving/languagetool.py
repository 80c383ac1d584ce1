"""``/v2``: LanguageTool's protocol, so that clients of LanguageTool can use this server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lev_plugins.checking.documents import DocumentRequest, document_format
from lev_plugins.editor.options import EditRequest
from lev_plugins.serving.annotated import Annotated, Part, Utf16
from lev_plugins.serving.context import EDIT, Context, ServedModel
from lev_plugins.serving.languages import Language, find, of_setting
from lev_plugins.serving.limits import bearer, parse_form, read_body
from lev_plugins.serving.matches import Match, as_dict, matches
from lev_plugins.text.edited import Edited
from lev_plugins.text.sentences import guess_language
from lev_plugins.utils.errors import require
from lev_plugins.utils.json_schema import parse_object, shown
from lev_plugins.utils.version import __version__

SOFTWARE = {
    "name": "lev-plugins",
    "version": __version__,
    "buildDate": "",
    "apiVersion": 1,
    "premium": False,
    "status": "",
}
GUESSED = 0.5  # confidence of a language that is guessed by its script
KEYS = ("text", "markup", "interpretAs")  # of a part of annotated text


# ---- a text ----------------------------------------------------------------------------------------------------------


async def check(request: Request) -> Response:
    """Answer with the matches in a text."""
    context: Context = request.app.state.context
    form = await authorised_form(request)
    model, text = context.find(EDIT), annotated(form)
    language, detected = language_of(form, text.plain, model)
    is_enabled = rule_filter(form)
    context.check_length([EditRequest(text.original)])  # markup may be longer than the text that it stands for
    requested = DocumentRequest(
        text.plain,
        language=language.code,
        words=(context.words.protected,),
        min_confidence=model.min_confidence,
        format=document_format(form.get("filename")),
    )
    (edited,) = await context.answers(request, model, [requested])
    described = {"name": language.name, "code": language.long_code, "detectedLanguage": detected}
    about = {"software": SOFTWARE, "warnings": {"incompleteResults": False}, "language": described}
    return JSONResponse(about | await asyncio.to_thread(result, text, edited, is_enabled))


def result(text: Annotated, edited: Edited, is_enabled: Callable[[Match], bool]) -> dict[str, Any]:
    """Return the matches and the ranges of sentences."""
    units, spans = Utf16(text.original), edited.sentences
    ranges = [[units.before(text.original_place(place)) for place in span] for span in spans]
    return {
        "matches": [as_dict(match, text, units, spans) for match in matches(text, edited) if is_enabled(match)],
        "sentenceRanges": ranges,
    }


async def authorised_form(request: Request) -> dict[str, str]:
    """Return the fields of the query and of the body; check the token, which may be the field apiKey."""
    context: Context = request.app.state.context
    form = parse_form(request.scope["query_string"], "the query")
    if request.method == "POST":
        form |= parse_form(await read_body(request, context.limits), "the form")
    context.access.check_token(bearer(request), form.get("apiKey"))
    return form


def annotated(form: dict[str, str]) -> Annotated:
    """Return the text of a form, which is either plain or annotated with markup."""
    require("text" in form or "data" in form, "Missing 'text' or 'data' parameter")
    require(not ("text" in form and "data" in form), "'text' and 'data' exclude each other: send only one of them")
    require("text" in form or "filename" not in form, "'filename' says where the prose of 'text' is: send no 'data'")
    if "text" in form:
        return Annotated([Part(form["text"], form["text"])])
    data = parse_object(form["data"].encode(), "data")
    parts = data.get("annotation", [data])
    require(isinstance(parts, list), "data.annotation must be a list")
    return Annotated([part_of(part, f"data.annotation[{i}]") for i, part in enumerate(parts)])


def part_of(entries: Any, name: str) -> Part:
    """Read a part of annotated text; other entries, such as the offset that some clients send, are ignored."""
    texts = {key: text for key, text in entries.items() if key in KEYS} if isinstance(entries, dict) else {}
    require(
        sorted(texts) in (["text"], ["markup"], ["interpretAs", "markup"])
        and all(isinstance(text, str) for text in texts.values()),
        f"{name} must have either a text, or markup and perhaps interpretAs, but is {shown(entries)}",
    )
    if "text" in texts:
        return Part(texts["text"], texts["text"])
    return Part(texts.get("interpretAs", ""), texts["markup"], text=False)


def language_of(form: dict[str, str], text: str, model: ServedModel) -> tuple[Language, dict[str, Any]]:
    """Return the language of a text, and its description for the client; ``auto``: the model's, or guessed."""
    require(bool(form.get("language")), "Missing 'language' parameter, e.g. 'language=en-US', or 'language=auto'")
    languages = of_setting(model.language)
    if form["language"] != "auto":
        language, confidence, source = find(form["language"], languages), 1.0, "request"
    elif model.language is not None:
        language, confidence, source = languages[0], 1.0, "setting"
    else:
        language, confidence, source = find(guess_language(text), languages), GUESSED, "script"
    return language, {"name": language.name, "code": language.long_code, "confidence": confidence, "source": source}


def rule_filter(form: dict[str, str]) -> Callable[[Match], bool]:
    """Return a function that tells whether the rule or the category of a match is enabled."""

    def listed(prefix: str) -> set[str]:
        names = ",".join(form.get(f"{prefix}{kind}", "") for kind in ("Rules", "Categories")).split(",")
        return {name.strip() for name in names} - {""}

    on, off = listed("enabled"), listed("disabled")
    only = form.get("enabledOnly", "").lower() in ("true", "yes")
    require(
        not only or (bool(on) and not off),
        "enabledOnly=true needs enabledRules or enabledCategories, and excludes disabledRules and disabledCategories",
    )

    def is_enabled(match: Match) -> bool:
        names = {match.rule.id, match.rule.category}
        return bool(names & on) or not (only or names & off)

    return is_enabled


# ---- information, and the user's own words ---------------------------------------------------------------------------


def listed_languages(context: Context) -> list[dict[str, str]]:
    languages = of_setting(context.find(EDIT).language)
    return [{"name": language.name, "code": language.code, "longCode": language.long_code} for language in languages]


def word_of(form: dict[str, str]) -> str:
    require("word" in form, "Missing 'word' parameter")
    return form["word"]


ANSWERS: dict[str, tuple[list[str], Callable[[Context, dict[str, str]], Any]]] = {  # path: methods, answer
    "languages": (["GET", "POST"], lambda context, _: listed_languages(context)),
    "info": (["GET", "POST"], lambda context, _: {"software": SOFTWARE}),
    "maxtextlength": (["GET", "POST"], lambda context, _: context.limits.max_text),
    "words": (["GET"], lambda context, _: {"words": list(context.words.words)}),
    "words/add": (["POST"], lambda context, form: {"added": context.words.add(word_of(form))}),
    "words/delete": (["POST"], lambda context, form: {"deleted": context.words.delete(word_of(form))}),
}


def endpoint_of(answer: Callable[[Context, dict[str, str]], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        form = await authorised_form(request)
        return JSONResponse(await asyncio.to_thread(answer, request.app.state.context, form))

    return endpoint


V2_ROUTES = [Route("/v2/check", check, methods=["GET", "POST"])]
V2_ROUTES += [Route(f"/v2/{path}", endpoint_of(answer), methods=methods) for path, (methods, answer) in ANSWERS.items()]
