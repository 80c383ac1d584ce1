// The script of the server's page, in as much of a document as it uses, and a server that answers when it is told to.
"use strict";
const fs = require("fs"), vm = require("vm");

class Element {
  constructor(id) {
    Object.assign(this, { id, value: "", textContent: "", hidden: false, disabled: false, dataset: {}, children: [] });
    this.handlers = {};
    this.classList = { add() {}, remove() {} };
  }
  addEventListener(name, handler) { (this.handlers[name] ??= []).push(handler); }
  fire(name) { for (const handler of this.handlers[name] ?? []) handler({ preventDefault() {}, key: "" }); }
  click() { this.fire("click"); }
  focus() { this.fire("focus"); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) {
    this.children = children;
    if (this.id === "model") this.value = children[0]?.value ?? "";
  }
  querySelector(query) {
    const number = query.match(/data-number="(-?\d+)"/)[1];
    return this.children.find((child) => String(child.dataset?.number) === number) ?? null;
  }
  setAttribute() {}
  removeAttribute() {}
  scrollIntoView() {}
  select() {}
}

const elements = {}, requests = [], journal = [];
const by = (id) => (elements[id] ??= new Element(id));
const moment = () => new Promise((done) => setTimeout(done, 1));

function fetch(path, options) {
  return new Promise((resolve) => {
    const answer = (content) => resolve({ ok: true, status: 200, json: async () => content });
    const body = options.body && JSON.parse(options.body);
    if (path === "v1/journal") { journal.push(body); answer({}); }
    else requests.push({ body, answer });
  });
}

/** Answers the oldest request that waits. */
async function answer(content) {
  requests.shift().answer(content);
  await moment();
}

async function open(keepsJournal = false) {
  const html = fs.readFileSync(process.argv[2], "utf8");
  by("minimum").value = "0";
  const made = { createElement: () => new Element(), createTextNode: (text) => ({ text }) };
  const document = { getElementById: by, ...made, execCommand() {} };
  class Option { constructor(text, value) { Object.assign(this, { textContent: text, value }); } }
  vm.runInContext(html.match(/<script>([\s\S]*?)<\/script>/)[1],
    vm.createContext({ document, fetch, Option, AbortController, navigator: {} }));
  await answer({ models: [{ name: "m", kind: "edit", drafts: true, min_confidence: 0, dials: {} }], journal: keepsJournal });
}

const type = (text) => { by("text").value = text; by("text").fire("input"); };
const edits = (...found) => ({ results: [{ edits: found }] });
const edit = (start, end, replacement, confidence = 0.9) => ({ start, end, replacement, confidence });

module.exports = { answer, by, edit, edits, journal, moment, open, requests, type };
