// Makes and changes elements. Data reaches the page only as text nodes and attributes, never as
// HTML: labels are other people's text.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with attributes and children; a string child becomes a text node. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Change a text only where it differs, so that a screen reader's place and selections stay. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The same for an attribute; null removes it. */
export function setAttribute(element, name, value) {
  if (value == null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** A copy of a template and its places by their data-is names. */
export function copyOf(id) {
  const content = document.getElementById(id).content.cloneNode(true);
  return { content, place: placesIn(content) };
}

/** The elements within one that have a data-is name. */
export function placesIn(root) {
  const found = {};
  for (const element of root.querySelectorAll("[data-is]")) found[element.dataset.is] = element;
  return found;
}

// Line breaks and other controls, and marks that turn the direction of text: with these one label
// could be made to look like another.
const UNSEEN = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** How a label is shown: characters that could not be seen are written as their numbers. */
export function shownLabel(label) {
  if (label == null) return "none yet";
  if (String(label).trim() === "") return "(blank)";
  const number = (one) => one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return String(label).replace(UNSEEN, (one) => `[U+${number(one)}]`);
}

/** Say something once to screen readers, without moving the focus. */
export function announce(text) {
  const announcer = document.getElementById("announcer");
  announcer.textContent = "";
  setTimeout(() => (announcer.textContent = text), 50);
}

/** Pairs of a term and a value in a <dl>, changed in place. */
export function fillPairs(list, pairs) {
  while (list.children.length > pairs.length) list.lastElementChild.remove();
  pairs.forEach(([term, value, title], index) => {
    let row = list.children[index];
    if (!row) list.append((row = h("div", {}, h("dt"), h("dd"))));
    setText(row.firstElementChild, term);
    setText(row.lastElementChild, value);
    setAttribute(row.lastElementChild, "title", title);
  });
}
