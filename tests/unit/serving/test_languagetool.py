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
from tests.helpers import mentions
from tests.serving import Client, FakeEditor, models, serving


def values(matches: list[dict]) -> list[str]:
    return [match["replacements"][0]["value"] for match in matches]


def utf16(text: str) -> list[str]:
    """Returns the UTF-16 code units, which JavaScript and Java count."""
    content = text.encode("utf-16-le")
    return [content[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(content), 2)]


def apply_matches(text: str, matches: list[dict]) -> str:
    """Applies the first replacements as clients in JavaScript or Java do."""
    units = utf16(text)
    for match in reversed(matches):
        units[match["offset"] : match["offset"] + match["length"]] = utf16(match["replacements"][0]["value"])
    return "".join(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def test_sentences_end_as_in_the_language_of_the_request() -> None:
    editor, text = FakeEditor(), "Das ist Herr Dr. Teh am 3. Oktober. Ja."
    with serving(Context(models(editor))) as client:
        for language, sentence_count in (("de-DE", 2), ("auto", 3)):
            answer = client.form("/v2/check", {"language": language, "text": text})
            assert len(answer.json["sentenceRanges"]) == sentence_count
            assert editor.languages == [language.partition("-")[0].replace("auto", "en")]


def test_a_text_without_full_stops_has_a_short_answer() -> None:
    """Each match contains only a part of a long sentence."""
    text = "teh a " * 3_000
    with serving(Context(models(FakeEditor()))) as client:
        answer = client.form("/v2/check", {"language": "en-US", "text": text})
        matches = answer.json["matches"]
        assert answer.status == 200 and len(matches) == 3_000 and len(answer.text) < 4_000_000  # once 60 million
        assert all("teh" in match["sentence"] and match["sentence"] in text for match in matches)
        assert max(len(match["sentence"]) for match in matches) < 600


def test_an_answer_has_all_keys_of_the_protocol(server: Client) -> None:
    text = "Here is teh end. " + "More " * 20
    answer = server.form("/v2/check", {"language": "en-US", "text": text})
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    response = answer.json
    assert set(response) == {"software", "warnings", "language", "matches", "sentenceRanges"}
    assert set(response["software"]) == {"name", "version", "buildDate", "apiVersion", "premium", "status"}
    assert response["software"]["apiVersion"] == 1 and response["warnings"] == {"incompleteResults": False}
    english = {"name": "English (US)", "code": "en-US"}
    assert response["language"] == {**english, "detectedLanguage": {**english, "confidence": 1.0, "source": "request"}}
    (match,) = response["matches"]
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
    assert response["sentenceRanges"] == [[0, 16], [17, 116]]


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
def test_offsets_count_utf_16_units(server: Client, text: str) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    matches = server.check(text)
    assert matches and apply_matches(text, matches) == FakeEditor().one(text).text
    for match in matches:
        units = utf16(text)[match["offset"] : match["offset"] + match["length"]]
        context, start = utf16(match["context"]["text"]), match["context"]["offset"]
        assert context[start : start + match["context"]["length"]] == units and units


def test_an_insertion_or_deletion_includes_a_neighbouring_word(server: Client) -> None:
    shown = [(*values([match]), match["rule"]["category"]["id"]) for match in server.check("I saw hat")]
    assert shown == [("saw a ", "GRAMMAR"), ("hat.", "TYPOGRAPHY")]
    (deleted,) = server.check("very good")
    assert (deleted["offset"], deleted["length"], values([deleted])) == (0, 9, ["good"])
    (deleted,) = server.check("a cat\nvery (good)")  # no word in this line is beside it, but a bracket
    assert (deleted["offset"], deleted["length"], values([deleted])) == (6, 6, ["("])


def test_offsets_in_annotated_text_count_the_markup(server: Client) -> None:
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
    assert apply_matches(original, answer["matches"]) == original.replace("teh ", "the ").replace(
        "tset", "test"
    ).replace("y go", "y goes")
    assert [m["sentence"] for m in answer["matches"]] == ["Teh 😀 teh tset of", "Teh 😀 teh tset of", "very go"]
    assert answer["matches"][0]["context"]["text"].startswith("<p>Teh 😀 teh <b>tset")
    assert answer["sentenceRanges"] == [[3, 28], [34, 46]]
    plain = server.form("/v2/check", {"language": "en", "data": json.dumps({"text": "teh"})}).json
    assert values(plain["matches"]) == ["the"]


def test_of_a_text_with_a_file_name_only_the_prose_has_matches(server: Client) -> None:
    text = "😀 teh end.\n\n```\ntset\n```\n\nI saw hat.\n"
    matches = server.check(text, filename="docs/a.md")
    assert apply_matches(text, matches) == text.replace("teh", "the").replace("saw hat", "saw a hat")
    assert len(server.check(text)) == len(server.check(text, filename="a.txt")) == len(matches) + 1


def test_text_inside_of_markup_has_no_matches(server: Client) -> None:
    parts = [{"text": "a "}, {"markup": "<code>", "interpretAs": "teh"}, {"text": " b"}]
    assert server.form("/v2/check", {"language": "en", "data": json.dumps({"annotation": parts})}).json["matches"] == []
    only = [{"markup": "<hr>"}]
    answer = server.form("/v2/check", {"language": "en", "data": json.dumps({"annotation": only})})
    assert answer.status == 200 and answer.json["sentenceRanges"] == []
    hidden = [{"markup": "<code>", "interpretAs": "One. Two."}]
    answer = server.form("/v2/check", {"language": "en", "data": json.dumps({"annotation": hidden})}).json
    assert answer["sentenceRanges"] == [[0, 0], [0, 0]]


# ---- clients, as they are on the wire --------------------------------------------------------------------------------


def test_requests_of_libre_office_are_answered(server: Client) -> None:
    """LibreOffice has a base URL ending in /v2; older versions do not encode the text."""
    for body in (b"text=Teh%20hat%3F+teh&language=en-US", "text=Größe: 100% teh&language=en-US".encode()):
        head = b"POST /v2/check HTTP/1.1\r\nHost: localhost:8081\r\nAccept: */*\r\nConnection: close\r\n"
        form = b"Content-Length: %d\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n" % len(body)
        response = server.raw(head + form + body)
        assert response.startswith(b"HTTP/1.1 200 ")
        (match,) = json.loads(response.partition(b"\r\n\r\n")[2])["matches"]
        assert values([match]) == ["the"] and match["rule"]["category"]["id"] == "TYPOS"


def test_requests_of_ltex_ls_are_answered(server: Client) -> None:
    """LTeX sends a form with the content type of JSON; annotatedtext, which other editors use, also sends offsets."""
    parts = [{"markup": "\\textbf{"}, {"text": "Here teh", "offset": {"start": 8, "end": 16}}]
    data = {"annotation": [*parts, {"markup": "}", "interpretAs": "."}], "metaData": {}}
    form = {"language": "en-US", "data": json.dumps(data), "motherTongue": "de-DE", "disabledRules": "X,Y"}
    answer = server.ask("POST", "/v2/check", urlencode(form).encode(), Content_Type="application/json; charset=UTF-8")
    (match,) = answer.json["matches"]
    assert (match["offset"], match["length"], match["sentence"]) == (13, 3, "Here teh.")
    assert not match["rule"]["id"].startswith("MORFOLOGIK_")


def test_get_requests_and_final_slashes_are_answered(server: Client) -> None:
    for path in ("/v2/check", "/v2/check/"):
        answer = server.get(f"{path}?language=en&text=teh+%C3%A9")
        assert values(answer.json["matches"]) == ["the"]
    for path in ("/v2/languages", "/v2/info", "/v2/maxtextlength", "/v2/words"):
        assert server.get(path).text == server.get(f"{path}/").text != ""
    assert server.get("/v2/maxtextlength").text == "2000"
    assert server.get("/v2/info").json["software"]["name"] == "lev-plugins"
    assert {"name": "English (US)", "code": "en", "longCode": "en-US"} in server.get("/v2/languages").json


def test_rules_and_categories_select_matches(server: Client) -> None:
    text = "teh cat go"
    assert values(server.check(text)) == ["the", "goes"]
    assert values(server.check(text, disabledRules="LEV_SPELLING")) == ["goes"]
    assert values(server.check(text, disabledCategories="TYPOS, GRAMMAR")) == []
    assert values(server.check(text, disabledCategories="TYPOS", enabledRules="LEV_SPELLING")) == ["the", "goes"]
    assert values(server.check(text, enabledOnly="true", enabledCategories="GRAMMAR")) == ["goes"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"language": "en"}, "'text' 'data'"),
        ({"text": "a"}, "'language' 'language=auto'"),
        ({"language": "en", "text": "a", "data": "{}"}, "'text' 'data' exclude"),
        ({"language": "en", "filename": "a.md", "data": '{"text": "a"}'}, "'filename' 'data'"),
        ({"language": "qq-QQ", "text": "a"}, "language='qq-QQ' /v2/languages"),
        ({"language": "en", "data": "{"}, "data valid JSON"),
        ({"language": "en", "data": "[]"}, "data JSON object"),
        ({"language": "en", "data": "{}"}, "data.annotation[0] text markup"),
        ({"language": "en", "data": '{"text": 1}'}, "interpretAs {'text': 1}"),
        ({"language": "en", "data": '{"annotation": [{"text": "a", "markup": "b"}]}'}, "{'text': 'a', 'markup': 'b'}"),
        ({"language": "en", "data": '{"text": "\\ud800"}'}, "surrogates"),
        ({"language": "en", "text": "a", "enabledOnly": "true"}, "enabledOnly=true enabledRules enabledCategories"),
        ({"language": "en", "text": "a", "enabledOnly": "yes", "disabledRules": "A"}, "enabledOnly disabledRules"),
    ],
)
def test_unusable_fields_are_refused(server: Client, fields: dict[str, str], message: str) -> None:
    answer = server.form("/v2/check", fields)
    assert answer.status == 400 and answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("Error: ") and mentions(answer.text, message)


def test_malformed_forms_are_refused(server: Client) -> None:
    answer = server.ask("POST", "/v2/check", b"language=en&text=%ff")
    assert answer.status == 400 and "form is not UTF-8" in answer.text
    assert "the form is not UTF-8" in server.ask("POST", "/v2/check", b"text=\xff").text
    assert "the query is not UTF-8" in server.get("/v2/check?text=%ff").text
    assert mentions(server.ask("POST", "/v2/check", b"a=&" * 101).text, "100 fields")
    assert server.form("/v2/check", {"language": "en", "text": "a" * 2001}).status == 413


def test_the_language_of_the_editor_is_the_only_one() -> None:
    with serving(Context(models(FakeEditor(language="de")))) as client:
        codes = [language["longCode"] for language in client.get("/v2/languages").json]
        assert codes == ["de", "de-DE", "de-AT", "de-CH"]
        language_entry = client.form("/v2/check", {"language": "auto", "text": "a"}).json["language"]
        assert language_entry["code"] == "de" and language_entry["detectedLanguage"]["source"] == "setting"
        assert client.form("/v2/check", {"language": "en", "text": "a"}).status == 400


def test_a_language_is_guessed_by_its_script(server: Client) -> None:
    language = server.form("/v2/check", {"language": "auto", "text": "Это дом."}).json["language"]
    assert language["name"] == "Russian" and language["detectedLanguage"] == {
        **{"name": "Russian", "code": "ru", "confidence": 0.5, "source": "script"}
    }


# ---- words -----------------------------------------------------------------------------------------------------------


def test_words_can_be_added_and_deleted(tmp_path: Path) -> None:
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


def test_an_insertion_beside_a_protected_word_includes_the_other_neighbour() -> None:
    words = WordList()
    words.add("saw"), words.add("end")
    changes = [(r"(?<=saw )(?=hat)", "a ", 1.0), (r"(?<=end)$", ".", 1.0)]
    with serving(Context(models(FakeEditor(changes=changes)), words=words)) as client:
        (match,) = client.check("I saw hat")
        assert (match["offset"], match["length"], values([match])) == (6, 3, ["a hat"])
        (match,) = client.check("the end")
        assert (match["offset"], match["length"], values([match])) == (7, 0, ["."])
        assert match["sentence"] == "the end"


def test_alternatives_cover_the_same_words_as_the_edit() -> None:
    edit = Edit(2, 2, "big ", 0.9, alternatives=(Edit(2, 2, "red ", 0.2),))
    (match,) = matches(Annotated([Part("a hat", "a hat")]), Edited("a hat", (edit,)))
    assert [(way.start, way.replacement) for way in (match.edit, *match.edit.alternatives)] == [
        (0, "a big "),
        (0, "a red "),
    ]


# ---- places in annotated text ----------------------------------------------------------------------------------------


def test_places_in_annotated_text_equal_a_linear_search() -> None:
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
