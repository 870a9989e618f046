// What the forms share: lines to labels, one submission at a time, and problems in words beside
// the form.

import { setText } from "./dom.js";
import { counted } from "./format.js";

/** The labels in a text, one per line; blank lines and space around labels do not count. */
export function labelsIn(text) {
  return text.split(/\r\n|\r|\n/).map((line) => line.trim()).filter((line) => line !== "");
}

/** Keep a note that says how many arms a field has. */
export function countLabels(field, note) {
  const update = () => {
    const labels = labelsIn(field.value);
    const twice = labels.length - new Set(labels).size;
    const said = labels.length ? counted(labels.length, "arm") : "No arms";
    setText(note, twice ? `${said}, ${twice} of them more than once` : said);
  };
  field.addEventListener("input", update);
  update();
}

/** Call `send` when a form is submitted; a problem is shown in its place, and the form stays usable. */
export function onSubmit(form, problem, send) {
  const button = form.querySelector("button[type=submit]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true"); // a disabled button would lose the focus
    setText(problem, "");
    try {
      await send();
    } catch (error) {
      const id = error.requestId ? ` (request ${error.requestId})` : "";
      setText(problem, error.status >= 500 ? `${error.message}${id}` : error.message);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
}
