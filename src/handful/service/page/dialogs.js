// The dialogs: the key, adding and withdrawing arms, changing settings, deleting. They are native modal dialogs, so
// Escape closes them and the focus goes back to where it was.

import { banditPath, call, key, setKey } from "./api.js";
import { announce, placesIn, setText, shownLabel } from "./dom.js";
import { counted } from "./format.js";
import { countLabels, labelsIn, onSubmit } from "./forms.js";

/** Prepare a dialog once; `open` is given what `send` needs, and `prepare` fills the form in. */
function dialog(id, { prepare, send }) {
  const element = document.getElementById(id);
  const form = element.querySelector("form");
  const place = placesIn(element);
  let given = null;
  place.cancel.addEventListener("click", () => element.close());
  onSubmit(form, place.problem, async () => {
    await send(given);
    element.close();
    given.done?.();
  });
  return {
    element,
    place,
    open(next) {
      given = next;
      setText(place.problem, "");
      prepare(next);
      if (!element.open) element.showModal();
    },
  };
}

const addField = document.getElementById("add-arms");
const add = dialog("dialog-add", {
  prepare() {
    addField.value = "";
    addField.dispatchEvent(new Event("input"));
  },
  async send({ name }) {
    const answer = await call("POST", banditPath(name, "/arms"), { arms: labelsIn(addField.value) });
    announce(`${counted(answer.added, "arm")} added.`);
  },
});
countLabels(addField, add.place.help);

const withdrawField = document.getElementById("withdraw-arm");
const withdraw = dialog("dialog-withdraw", {
  prepare({ arm }) {
    withdrawField.value = arm ?? "";
    // A label from the table is withdrawn as it is: a field would lose its line breaks.
    withdrawField.readOnly = arm != null;
  },
  async send({ name, arm }) {
    const label = arm ?? withdrawField.value;
    await call("DELETE", banditPath(name, "/arms"), { arms: [label] });
    announce(`${shownLabel(label)} was withdrawn.`);
  },
});

const changeFields = document.querySelector("#dialog-change form").elements;
const change = dialog("dialog-change", {
  prepare({ bandit }) {
    for (const name of ["window", "default", "explore"]) changeFields[name].value = bandit[name] ?? "";
  },
  async send({ name, bandit }) {
    const body = {};
    for (const field of ["window", "default", "explore"]) {
      const value = changeFields[field].value === "" ? null : changeFields[field].valueAsNumber;
      if (value !== (bandit[field] ?? null)) body[field] = value;
    }
    if (Object.keys(body).length === 0) return;
    await call("PATCH", banditPath(name), body);
    announce("The settings were changed.");
  },
});

const deleteField = document.getElementById("delete-name");
const remove = dialog("dialog-delete", {
  prepare({ name }) {
    deleteField.value = "";
    setText(remove.place.name, name);
  },
  async send({ name }) {
    if (deleteField.value.trim() !== name) throw new Error(`This is not its name. Type ${name} to delete it.`);
    await call("DELETE", banditPath(name));
    announce(`The bandit ${name} was deleted.`);
  },
});

const keyField = document.getElementById("key-value");
const ask = dialog("dialog-key", {
  prepare({ problem }) {
    keyField.value = "";
    ask.place.forget.hidden = !key();
    // The first question needs no reproach; a key that was refused does.
    if (problem && key()) setText(ask.place.problem, problem.message);
  },
  async send() {
    setKey(keyField.value.trim());
  },
});
ask.place.forget.addEventListener("click", () => {
  setKey(null);
  location.reload();
});

export const openAdd = add.open;
export const openWithdraw = withdraw.open;
export const openChange = change.open;
export const openDelete = remove.open;
export const openKey = ask.open;
