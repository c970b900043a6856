// SPDX-License-Identifier: Apache-2.0
// Unfolds what is folded on paper, and copies commands.
"use strict";
{
  // On paper nothing opens by a click.
  const folded = [...document.querySelectorAll("details:not([open])")];
  addEventListener("beforeprint", () => {
    folded.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => {
    folded.forEach((each) => { each.open = false; });
  });

  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {  // no clipboard for this page: select it, for the reader to copy
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
  };
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", () => copy(button));
  }
}
