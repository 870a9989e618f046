// Code to copy for curl, Python and JavaScript, with the server's address and the bandit's name.
// A key is never written out: the code reads it from the environment.

import { banditPath, key, root } from "./api.js";
import { announce, h } from "./dom.js";

/** A line for the terminal that creates a first bandit. */
export function firstBandit() {
  const body = '{"name": "front", "policy": "race", "memory": 8, "arms": ["a", "b", "c"]}';
  return curl("POST", `${root()}/v1/bandits`, body);
}

/** The snippets of a bandit: name of the language and code. */
export function snippetsOf(name) {
  const decide = `${root()}/${banditPath(name, "/decisions")}`;
  const reward = curl("PUT", `${root()}/v1/decisions/ID/reward`, '{"reward": 1.0}');
  const comment = "# with the id of the answer, as soon as the reward is known";
  return [
    ["curl", `${curl("POST", decide, "{}")}\n\n${comment}\n${reward}`],
    ["Python", python(name)],
    ["JavaScript", javascript(decide)],
  ];
}

function curl(method, url, body) {
  const parts = [`curl -X ${method} ${shellQuoted(url)}`];
  if (key()) parts.push('-H "Authorization: Bearer $HANDFUL_KEY"');
  parts.push("-H 'Content-Type: application/json'", `-d ${shellQuoted(body)}`);
  return parts.join(" \\\n  ");
}

function python(name) {
  const imports = key() ? "import os\n\n" : "";
  const given = key() ? ', key=os.environ["HANDFUL_KEY"]' : "";
  return `${imports}from handful.client import Client

client = Client(${JSON.stringify(root())}${given})
decision = client.decide(${JSON.stringify(name)})
print(decision.arm)

# as soon as the reward is known
client.reward(decision.id, 1.0)`;
}

function javascript(decide) {
  const authorization = key() ? ", Authorization: `Bearer ${process.env.HANDFUL_KEY}`" : "";
  return `const headers = { "Content-Type": "application/json"${authorization} };
const answer = await fetch(${JSON.stringify(decide)}, { method: "POST", headers, body: "{}" });
const { decisions: [decision] } = await answer.json();
console.log(decision.arm);

// as soon as the reward is known
await fetch(${JSON.stringify(`${root()}/v1/decisions/`)} + decision.id + "/reward", {
  method: "PUT", headers, body: JSON.stringify({ reward: 1.0 }),
});`;
}

function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A block of code with a button that copies it. */
export function codeBlock(code, name) {
  const text = h("pre", { tabindex: 0, role: "region", "aria-label": `${name} code` }, h("code", {}, code));
  const button = h("button", { type: "button", class: "small" }, "Copy");
  button.setAttribute("aria-label", `Copy the ${name} code`);
  let timer = 0;
  button.addEventListener("click", async () => {
    const done = await copy(code, text);
    button.textContent = done ? "Copied" : "Selected";
    announce(done ? "Copied to the clipboard." : "Selected: copy it with the keyboard.");
    clearTimeout(timer);
    timer = setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return h("div", { class: "code" }, text, button);
}

/** Copy by the clipboard API; on plain http beyond this machine there is none, so select instead. */
async function copy(code, element) {
  try {
    await navigator.clipboard.writeText(code);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
}

/** Tabs, one a language: arrow keys, Home and End move between them. */
export function snippetTabs(name) {
  const snippets = snippetsOf(name);
  const tabs = snippets.map(([language], index) =>
    h("button", { type: "button", role: "tab", id: `tab-${index}`, "aria-controls": `panel-${index}` }, language),
  );
  const panels = snippets.map(([language, code], index) =>
    h("div", { role: "tabpanel", id: `panel-${index}`, "aria-labelledby": `tab-${index}` }, codeBlock(code, language)),
  );
  const choose = (chosen) => {
    tabs.forEach((tab, index) => {
      tab.setAttribute("aria-selected", index === chosen);
      tab.tabIndex = index === chosen ? 0 : -1;
      panels[index].hidden = index !== chosen;
    });
  };
  tabs.forEach((tab, index) => tab.addEventListener("click", () => choose(index)));
  const list = h("div", { role: "tablist", class: "tabs", "aria-label": "Language" }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const chosen = (next + tabs.length) % tabs.length;
    choose(chosen);
    tabs[chosen].focus();
  });
  choose(0);
  return h("div", {}, list, ...panels);
}
