// SPDX-License-Identifier: Apache-2.0
// Sorts and filters the leaderboard, within each workload, and copies commands.
"use strict";
{
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
  };
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => sort(column));
  });

  const input = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const name = row.dataset.strategy.toLowerCase();
      row.hidden = !words.every((word) => name.includes(word));
    }
    for (const body of board.tBodies) {
      body.hidden = !body.querySelector("tr.row:not([hidden])");
    }
    const left = rows.filter((row) => !row.hidden).length;
    shown.textContent = `${left} of ${rows.length} rows`;
  };
  input.addEventListener("input", filter);
  filter();

  // On paper nothing opens by a click.
  const folded = [...document.querySelectorAll("details:not([open])")];
  addEventListener("beforeprint", () => folded.forEach((each) => { each.open = true; }));
  addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }));

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
