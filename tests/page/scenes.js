// node scenes.js PAGE NAME: what a person does while the server works; prints the text box and what was said.
"use strict";
const { answer, by, edit, edits, journal, moment, open, requests, type } = require("./document.js");

async function checked(text, ...found) {
  type(text);
  by("check").click();
  await moment();
  await answer(edits(...found));
}

const scenes = {
  async typing_while_it_checks() {
    type("teh cat");
    by("check").click();
    type("teh cat sat");
    await answer(edits(edit(0, 3, "the")));
  },
  async accepting_while_it_checks_again() {
    await checked("teh tset", edit(0, 3, "the"), edit(4, 8, "test"));
    by("round").click();
    by("all").click();
    await answer(edits());
  },
  async typing_while_it_inserts() {
    type("first");
    by("text").selectionStart = 5;
    by("insert").click();
    type("first and more");
    await answer(edits(edit(5, 5, " new")));
  },
  async undo_of_a_second_check() {
    await checked("teh cat");
    for (const text of ["teh cat ", "teh cat s", "teh cat sat"]) type(text);
    by("check").click();
    await moment();
    await answer(edits(edit(0, 3, "the")));
    by("undo").click();
  },
  async undo_of_a_word_before_any_check() {
    type("a pasted text");
    by("word").value = "Zürich";
    by("protect").fire("submit");
    by("undo").click();
  },
  async the_draft_of_a_bracket_behind_a_backslash() {
    type("a \\⟦b⟧");
    by("source").value = "x";
    by("check").click();
    await moment();
    type(requests[0].body.drafts[0]);
    await answer(edits());
  },
  async inserting_in_an_empty_first_line() {
    type("\nsecond");
    by("text").selectionStart = 0;
    by("insert").click();
    await moment();
    await answer(edits(edit(0, 0, "new", 1)));
    by("accept").click();
  },
  async choosing_another_replacement() {
    await checked("teh cat", { ...edit(0, 3, "the"), alternatives: [{ replacement: "ten", confidence: 0.1 }] });
    by("others").children[0].click();
  },
  async accepting_what_reaches_the_minimum() {
    await checked("teh cat", edit(0, 3, "the", 0.29));
    by("minimum").value = "29";
    by("minimum").fire("input");
    by("all").click();
  },
  async leaving_what_is_below_the_minimum() {
    await checked("Teh teh", edit(0, 3, "The", 0.216), edit(4, 7, "the", 0.3));
    by("minimum").value = "29";
    by("minimum").fire("input");
    by("all").click();
  },
  async terms_are_used_when_their_edits_are_accepted() {
    type("ein Haus\nein Hut");
    by("source").value = "a red hat\na hat";
    by("glossary").value = "hat\tHut\nred hat\troter Hut\n";
    by("check").click();
    await moment();
    const [{ body }] = requests;
    const hat = { source: "hat", target: "Hut", used: true }, red = { source: "red hat", target: "roter Hut", used: true };
    await answer({ results: [{ edits: [edit(4, 8, "roter Hut", 1)], terms: [red] }, { edits: [], terms: [hat, { ...hat }] }] });
    const before = terms();
    by("accept").click();
    seen = { sent: body.glossary, before, after: terms(), sources: by("sources").textContent };
  },
  async the_journal_is_told_what_was_decided() {
    await checked("😀 teh tset hat", edit(2, 5, "the"), edit(6, 10, "test"), edit(11, 14, "cat"));
    by("accept").click();
    by("reject").click();
    by("copy").click();
    by("copy").click();
  },
};

const terms = () => by("terms").children.map((item) => [item.textContent, item.className]);
let seen = {};

(async () => {
  await open(process.argv[4] === "journal");
  await scenes[process.argv[3]]();
  const said = by("said").textContent;
  console.log(JSON.stringify({ text: by("text").value, said, waiting: requests.length, journal, ...seen }));
})();
