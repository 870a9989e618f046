// Applies the theme that was chosen by hand before anything is drawn, so that the page does not
// flash in the other one. A classic script in the head, since modules run after parsing.
"use strict";
try {
  const chosen = localStorage.getItem("handful.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's theme applies then.
}
