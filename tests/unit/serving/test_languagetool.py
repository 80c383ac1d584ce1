"""LanguageTool's protocol as its clients use it, with an editor that needs no model."""

import json
import random
from pathlib import Path
from urllib.parse import urlencode

import pytest

from lev_plugins.editor.own_words import WordList
from lev_plugins.serving.annotated import Annotated, Part
from lev_plugins.serving.context import Context
from lev_plugins.serving.matches import matches
from lev_plugins.text.edited import Edit, Edited
from tests.serving import Client, FakeEditor, models, serving


def values(matches: list[dict]) -> list[str]:
    return [match["replacements"][0]["value"] for match in matches]


def utf16(text: str) -> list[str]:
    """The code units, as JavaScript and Java see them."""
    content = text.encode("utf-16-le")
    return [content[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(content), 2)]


def applied(text: str, matches: list[dict]) -> str:
    """As a client of JavaScript or Java applies the first replacements."""
    units = utf16(text)
    for match in reversed(matches):
        units[match["offset"] : match["offset"] + match["length"]] = utf16(match["replacements"][0]["value"])
    return "".join(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def test_sentences_end_as_in_the_language_of_the_request() -> None:
    editor, text = FakeEditor(), "Das ist Herr Dr. Teh am 3. Oktober. Ja."
    with serving(Context(models(editor))) as client:
        for language, most in (("de-DE", 2), ("auto", 3)):
            answer = client.form("/v2/check", {"language": language, "text": text})
            assert len(answer.json["sentenceRanges"]) == most
            assert editor.languages == [language.partition("-")[0].replace("auto", "en")]


def test_a_text_without_full_stops_has_a_short_answer() -> None:
    """Each match shows only a part of so long a sentence."""
    text = "teh a " * 3_000
    with serving(Context(models(FakeEditor()))) as client:
        answer = client.form("/v2/check", {"language": "en-US", "text": text})
        found = answer.json["matches"]
        assert answer.status == 200 and len(found) == 3_000 and len(answer.text) < 4_000_000  # once 60 million
        assert all("teh" in match["sentence"] and match["sentence"] in text for match in found)
        assert max(len(match["sentence"]) for match in found) < 600


def test_all_keys_of_an_answer(server: Client) -> None:
    text = "Here is teh end. " + "More " * 20
    answer = server.form("/v2/check", {"language": "en-US", "text": text})
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    found = answer.json
    assert set(found) == {"software", "warnings", "language", "matches", "sentenceRanges"}
    assert set(found["software"]) == {"name", "version", "buildDate", "apiVersion", "premium", "status"}
    assert found["software"]["apiVersion"] == 1 and found["warnings"] == {"incompleteResults": False}
    english = {"name": "English (US)", "code": "en-US"}
    assert found["language"] == {**english, "detectedLanguage": {**english, "confidence": 1.0, "source": "request"}}
    (match,) = found["matches"]
    assert match == {
        "message": "Possible spelling mistake (confidence 90%)",
        "shortMessage": "Spelling mistake",
        "replacements": [{"value": "the"}, {"value": "then"}],
        "offset": 8,
        "length": 3,
        "context": {"text": text[:51] + "...", "offset": 8, "length": 3},
        "sentence": "Here is teh end.",
        "type": {"typeName": "UnknownWord"},
        "rule": {
            "id": "LEV_SPELLING",
            "description": "Possible spelling mistake",
            "issueType": "misspelling",
            "category": {"id": "TYPOS", "name": "Possible typo"},
        },
        "ignoreForIncompleteSentence": False,
        "contextForSureMatch": 0,
    }
    assert found["sentenceRanges"] == [[0, 16], [17, 116]]


@pytest.mark.parametrize(
    "text",
    [
        "teh tset",
        "😀 teh 👩‍👩‍👧 tset 😀",
        "e\u0301 teh o\u0308 tset",
        "I saw hat\n😀 very good hat",
        "It go very well .",
        "\ud83c\uddeb teh",
    ],
)
def test_offsets_are_those_of_utf_16(server: Client, text: str) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    matches = server.check(text)
    assert matches and applied(text, matches) == FakeEditor().one(text).text
    for match in matches:
        units = utf16(text)[match["offset"] : match["offset"] + match["length"]]
        context, start = utf16(match["context"]["text"]), match["context"]["offset"]
        assert context[start : start + match["context"]["length"]] == units and units


def test_what_only_inserts_or_deletes_shows_a_word(server: Client) -> None:
    found = [(*values([match]), match["rule"]["category"]["id"]) for match in server.check("I saw hat")]
    assert found == [("saw a ", "GRAMMAR"), ("hat.", "TYPOGRAPHY")]
    (deleted,) = server.check("very good")
    assert (deleted["offset"], deleted["length"], values([deleted])) == (0, 9, ["good"])
    (deleted,) = server.check("a cat\nvery (good)")  # no word in this line is beside it, but a bracket
    assert (deleted["offset"], deleted["length"], values([deleted])) == (6, 6, ["("])


def test_annotated_text(server: Client) -> None:
    parts = [
        {"markup": "<p>"},
        {"text": "Teh 😀 teh "},
        {"markup": "<b>"},
        {"text": "tset"},
        {"markup": "</b>", "interpretAs": ""},
        {"text": " of "},
        {"markup": "<br/>", "interpretAs": "\n"},
        {"text": "ve"},
        {"markup": "&#114;", "interpretAs": "r"},
        {"text": "y go"},
    ]
    original = "".join(part.get("text") or part["markup"] for part in parts)
    answer = server.form("/v2/check", {"language": "auto", "data": json.dumps({"annotation": parts})}).json
    assert applied(original, answer["matches"]) == original.replace("teh ", "the ").replace("tset", "test").replace(
        "y go", "y goes"
    )
    assert [m["sentence"] for m in answer["matches"]] == ["Teh 😀 teh tset of", "Teh 😀 teh tset of", "very go"]
    assert answer["matches"][0]["context"]["text"].startswith("<p>Teh 😀 teh <b>tset")
    assert answer["sentenceRanges"] == [[3, 28], [34, 46]]
    same = server.form("/v2/check", {"language": "en", "data": json.dumps({"text": "teh"})}).json
    assert values(same["matches"]) == ["the"]


def test_text_inside_of_markup_is_left_alone(server: Client) -> None:
    parts = [{"text": "a "}, {"markup": "<code>", "interpretAs": "teh"}, {"text": " b"}]
    assert server.form("/v2/check", {"language": "en", "data": json.dumps({"annotation": parts})}).json["matches"] == []
    only = [{"markup": "<hr>"}]
    answer = server.form("/v2/check", {"language": "en", "data": json.dumps({"annotation": only})})
    assert answer.status == 200 and answer.json["sentenceRanges"] == []
    hidden = [{"markup": "<code>", "interpretAs": "One. Two."}]
    answer = server.form("/v2/check", {"language": "en", "data": json.dumps({"annotation": hidden})}).json
    assert answer["sentenceRanges"] == [[0, 0], [0, 0]]


# ---- clients, as they are on the wire --------------------------------------------------------------------------------


def test_libre_office(server: Client) -> None:
    """Base URL ending in /v2; older ones do not encode what they send."""
    for body in (b"text=Teh%20hat%3F+teh&language=en-US", "text=Größe: 100% teh&language=en-US".encode()):
        head = b"POST /v2/check HTTP/1.1\r\nHost: localhost:8081\r\nAccept: */*\r\nConnection: close\r\n"
        form = b"Content-Length: %d\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n" % len(body)
        got = server.raw(head + form + body)
        assert got.startswith(b"HTTP/1.1 200 ")
        (match,) = json.loads(got.partition(b"\r\n\r\n")[2])["matches"]
        assert values([match]) == ["the"] and match["rule"]["category"]["id"] == "TYPOS"


def test_ltex_ls(server: Client) -> None:
    """It sends a form, and calls it JSON; annotatedtext, in editors for Obsidian and VS Code, sends places, too."""
    parts = [{"markup": "\\textbf{"}, {"text": "Here teh", "offset": {"start": 8, "end": 16}}]
    data = {"annotation": [*parts, {"markup": "}", "interpretAs": "."}], "metaData": {}}
    form = {"language": "en-US", "data": json.dumps(data), "motherTongue": "de-DE", "disabledRules": "X,Y"}
    answer = server.ask("POST", "/v2/check", urlencode(form).encode(), Content_Type="application/json; charset=UTF-8")
    (match,) = answer.json["matches"]
    assert (match["offset"], match["length"], match["sentence"]) == (13, 3, "Here teh.")
    assert not match["rule"]["id"].startswith("MORFOLOGIK_")


def test_get_and_slashes(server: Client) -> None:
    for path in ("/v2/check", "/v2/check/"):
        answer = server.get(f"{path}?language=en&text=teh+%C3%A9")
        assert values(answer.json["matches"]) == ["the"]
    for path in ("/v2/languages", "/v2/info", "/v2/maxtextlength", "/v2/words"):
        assert server.get(path).text == server.get(f"{path}/").text != ""
    assert server.get("/v2/maxtextlength").text == "2000"
    assert server.get("/v2/info").json["software"]["name"] == "lev-plugins"
    assert {"name": "English (US)", "code": "en", "longCode": "en-US"} in server.get("/v2/languages").json


def test_choice_of_rules(server: Client) -> None:
    text = "teh cat go"
    assert values(server.check(text)) == ["the", "goes"]
    assert values(server.check(text, disabledRules="LEV_SPELLING")) == ["goes"]
    assert values(server.check(text, disabledCategories="TYPOS, GRAMMAR")) == []
    assert values(server.check(text, disabledCategories="TYPOS", enabledRules="LEV_SPELLING")) == ["the", "goes"]
    assert values(server.check(text, enabledOnly="true", enabledCategories="GRAMMAR")) == ["goes"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"language": "en"}, "Error: Missing 'text' or 'data' parameter"),
        ({"text": "a"}, "Error: Missing 'language' parameter, e.g. 'language=en-US', or 'language=auto'"),
        ({"language": "en", "text": "a", "data": "{}"}, "'text' and 'data' exclude each other: send only one of them"),
        ({"language": "qq-QQ", "text": "a"}, "language='qq-QQ' is not among those that /v2/languages lists"),
        ({"language": "en", "data": "{"}, "data is not valid JSON"),
        ({"language": "en", "data": "[]"}, "data is not a JSON object"),
        ({"language": "en", "data": "{}"}, "data.annotation[0] must have either a text, or markup"),
        ({"language": "en", "data": '{"text": 1}'}, "perhaps interpretAs, but is {'text': 1}"),
        ({"language": "en", "data": '{"annotation": [{"text": "a", "markup": "b"}]}'}, "but is {'text': 'a', 'markup"),
        ({"language": "en", "data": '{"text": "\\ud800"}'}, "surrogates not allowed"),
        ({"language": "en", "text": "a", "enabledOnly": "true"}, "enabledOnly=true needs enabledRules or enabledCateg"),
        ({"language": "en", "text": "a", "enabledOnly": "yes", "disabledRules": "A"}, "excludes disabledRules"),
    ],
)
def test_wrong_requests(server: Client, fields: dict[str, str], message: str) -> None:
    answer = server.form("/v2/check", fields)
    assert answer.status == 400 and answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("Error: ") and message in answer.text


def test_wrong_forms(server: Client) -> None:
    answer = server.ask("POST", "/v2/check", b"language=en&text=%ff")
    assert answer.status == 400 and "the form is not UTF-8" in answer.text
    assert "the form is not UTF-8" in server.ask("POST", "/v2/check", b"text=\xff").text
    assert "the query is not UTF-8" in server.get("/v2/check?text=%ff").text
    assert "more than 100 fields: percent-encode each &" in server.ask("POST", "/v2/check", b"a=&" * 101).text
    assert server.form("/v2/check", {"language": "en", "text": "a" * 2001}).status == 413


def test_the_language_of_the_editor_is_the_only_one() -> None:
    with serving(Context(models(FakeEditor(language="de")))) as client:
        codes = [each["longCode"] for each in client.get("/v2/languages").json]
        assert codes == ["de", "de-DE", "de-AT", "de-CH"]
        found = client.form("/v2/check", {"language": "auto", "text": "a"}).json["language"]
        assert found["code"] == "de" and found["detectedLanguage"]["source"] == "setting"
        assert client.form("/v2/check", {"language": "en", "text": "a"}).status == 400


def test_a_language_is_guessed_by_its_script(server: Client) -> None:
    found = server.form("/v2/check", {"language": "auto", "text": "Это дом."}).json["language"]
    assert found["name"] == "Russian" and found["detectedLanguage"] == {
        **{"name": "Russian", "code": "ru", "confidence": 0.5, "source": "script"}
    }


# ---- words -----------------------------------------------------------------------------------------------------------


def test_words_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("tset\n", "utf-8")
    with serving(Context(models(FakeEditor()), words=WordList(path))) as client:
        assert values(client.check("teh tset")) == ["the"]
        assert client.form("/v2/words/add", {"word": "teh"}).json == {"added": True}
        assert client.form("/v2/words/add/", {"word": "teh"}).json == {"added": False}
        assert client.check("teh tset") == [] and client.edit("teh tset").json["results"][0]["edits"] == []
        assert client.get("/v2/words").json == {"words": ["tset", "teh"]}
        assert client.form("/v2/words/delete", {"word": "tset"}).json == {"deleted": True}
        assert client.form("/v2/words/delete", {"word": "tset"}).json == {"deleted": False}
        assert path.read_text("utf-8") == "teh\n" and values(client.check("teh tset")) == ["test"]
        assert "Missing 'word' parameter" in client.form("/v2/words/add", {}).text
        assert "word must not contain blanks" in client.form("/v2/words/add", {"word": "a b"}).text
        assert client.get("/v2/words/add").status == 405


def test_what_is_beside_a_word_goes_to_the_other_side() -> None:
    words = WordList()
    words.add("saw"), words.add("end")
    changes = [(r"(?<=saw )(?=hat)", "a ", 1.0), (r"(?<=end)$", ".", 1.0)]
    with serving(Context(models(FakeEditor(changes=changes)), words=words)) as client:
        (match,) = client.check("I saw hat")
        assert (match["offset"], match["length"], values([match])) == (6, 3, ["a hat"])
        (match,) = client.check("the end")
        assert (match["offset"], match["length"], values([match])) == (7, 0, ["."])
        assert match["sentence"] == "the end"


def test_other_replacements_are_widened_alike() -> None:
    edit = Edit(2, 2, "big ", 0.9, alternatives=(Edit(2, 2, "red ", 0.2),))
    (match,) = matches(Annotated([Part("a hat", "a hat")]), Edited("a hat", (edit,)))
    assert [(way.start, way.replacement) for way in (match.edit, *match.edit.alternatives)] == [
        (0, "a big "),
        (0, "a red "),
    ]


# ---- places in annotated text ----------------------------------------------------------------------------------------


def test_places_are_those_that_a_search_from_the_front_finds() -> None:
    draw = random.Random(1)
    kinds = [Part("ab ", "ab "), Part("", "", True), Part("", "<br>", False), Part("xy", "<p>", False)]
    for _ in range(300):
        text = Annotated(draw.choices(kinds, k=draw.randint(0, 8)))
        for at in range(len(text.plain) + 2):
            around = [place for place in text.places if place.start <= at <= place.end]
            texts = [place for place in around if place.text]
            markup = around[0].original if around else 0
            assert text.original_place(at) == (texts[0].original + at - texts[0].start if texts else markup)
            for end in range(at, len(text.plain) + 2):
                assert text.around(at, end) == next((place for place in texts if end <= place.end), None)
