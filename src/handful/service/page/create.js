// The form that creates a bandit.

import { call } from "./api.js";
import { announce, copyOf, setText } from "./dom.js";
import { countLabels, labelsIn, onSubmit } from "./forms.js";

/** The form; `onCreated` is given the bandit. */
export function createForm(onCreated) {
  const { content, place } = copyOf("form-create");
  const form = content.querySelector("form");
  const field = form.elements;
  const memoryHelp = place["memory-help"].textContent;
  countLabels(field.arms, place["arms-help"]);

  const choosePolicy = () => {
    const option = field.policy.selectedOptions[0];
    const own = option.dataset.memory === "own";
    setText(place["policy-help"], option.dataset.help);
    field.memory.disabled = own;
    setText(place["memory-help"], own ? "This policy sets its memory itself" : memoryHelp);
  };
  field.policy.addEventListener("change", choosePolicy);
  choosePolicy();

  onSubmit(form, place.problem, async () => {
    const body = {
      name: field.name.value.trim(),
      policy: field.policy.value,
      arms: labelsIn(field.arms.value),
    };
    if (field.open.checked) body.open = true;
    if (!field.memory.disabled) body.memory = field.memory.valueAsNumber;
    for (const name of ["window", "default", "explore"]) {
      if (field[name].value !== "") body[name] = field[name].valueAsNumber;
    }
    const bandit = await call("POST", "v1/bandits", body);
    announce(`The bandit ${bandit.name} was created.`);
    onCreated(bandit);
  });
  return form;
}
