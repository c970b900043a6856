// SPDX-License-Identifier: Apache-2.0
// Sorts, filters and folds the leaderboard, within each workload; unfolds everything on paper, and
// copies commands.
"use strict";
{
  const most = 40;  // rows of a workload before "show all"
  const board = document.getElementById("board");
  const headings = [...board.tHead.rows[0].cells];
  const rows = [...board.querySelectorAll("tr.row")];

  // Empty values come last, whichever way the others are sorted.
  const compare = (a, b, sign) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    return sign * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y);
  };

  const sort = (column) => {
    const heading = headings[column];
    const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const each of headings) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const value = (row) => row.cells[column].dataset.sort;
    for (const body of board.tBodies) {
      const own = [...body.querySelectorAll("tr.row")];
      own.sort((a, b) => compare(value(a), value(b), sign));
      body.append(...own);
    }
    show();
  };
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => sort(column));
  });

  const input = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const unfold = document.getElementById("unfold");
  let folds = true;
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    let found = 0;
    let folded = 0;
    for (const body of board.tBodies) {
      let own = 0;
      for (const row of body.querySelectorAll("tr.row")) {
        const name = row.dataset.strategy.toLowerCase();
        const fits = words.every((word) => name.includes(word));
        own += fits;
        row.hidden = !fits || (folds && own > most);
        folded += fits && row.hidden;
      }
      body.hidden = own === 0;
      found += own;
    }
    const [all, own] = [rows.length, found].map((count) => count.toLocaleString("en"));
    shown.textContent = `${own} of ${all} cells` + (folded ? `, ${found - folded} shown` : "");
    unfold.hidden = folded === 0;
  };
  const foldAs = (state) => { folds = state; show(); };
  input.addEventListener("input", show);
  unfold.addEventListener("click", () => foldAs(false));
  show();

  let before = folds;
  addEventListener("beforeprint", () => {
    before = folds;
    foldAs(false);
  });
  addEventListener("afterprint", () => foldAs(before));

  // On paper nothing opens by a click.
  const folded = [...document.querySelectorAll("details:not([open])")];
  addEventListener("beforeprint", () => {
    folded.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => {
    folded.forEach((each) => { each.open = false; });
  });

  // A strategy's name or mark under the pointer lights it everywhere, and dims others in figures.
  const named = [...document.querySelectorAll("[data-name]")];
  addEventListener("pointerover", (event) => {
    const name = event.target.closest?.("[data-name]")?.dataset.name;
    document.body.classList.toggle("lights", name !== undefined);
    for (const each of named) each.classList.toggle("lit", each.dataset.name === name);
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
