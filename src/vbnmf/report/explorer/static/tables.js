// Elements that views share: tables that can be sorted, choices and steps.

// columns: {name, cell(row), value(row) to sort by, right: numbers, heading: names the row}
// sorting: name of the parameter that holds the order; without it the rows keep their order
// roving: whether the links of the table are one stop of the Tab key, between which arrows move
function table({ caption, columns, rows, sorting = null, className = "", roving = false, sorted = () => {} }) {
  const body = el("tbody");
  const heads = columns.map((column, i) => {
    if (!column.name) return el("td", { class: "wide" }); // bars, which repeat another column
    const className = [column.right && "right", column.className].filter(Boolean).join(" ");
    if (!sorting || !column.value) return el("th", { scope: "col", class: className, title: column.about }, column.name);
    const turn = () => {
      const [at, falling] = order();
      const first = Boolean(column.right); // numbers: the largest first
      adjust({
        [sorting]: at === i ? (falling === first ? `${first ? "" : "-"}${i}` : null) : `${first ? "-" : ""}${i}`,
      });
      fill();
      say(`Sorted by ${column.name}.`);
    };
    return el(
      "th",
      { scope: "col", class: className, title: column.about },
      el(
        "button",
        { type: "button", class: "sort", onclick: turn },
        column.name,
        el("span", { class: "arrow", "aria-hidden": "true" }),
      ),
    );
  });

  function order() {
    const match = /^(-?)(\d+)$/.exec(sorting ? param(sorting) : "");
    return match && columns[match[2]]?.value ? [Number(match[2]), match[1] === "-"] : [null, false];
  }

  function fill() {
    const [at, falling] = order();
    let shown = rows;
    if (at !== null) {
      const value = columns[at].value;
      const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : (a ?? -Infinity) - (b ?? -Infinity));
      shown = [...rows].sort((a, b) => (falling ? compare(value(b), value(a)) : compare(value(a), value(b))));
    }
    heads.forEach((head, i) => {
      if (i === at) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(
      ...shown.map((row) =>
        el(
          "tr",
          null,
          columns.map((column) =>
            el(
              column.heading ? "th" : "td",
              {
                scope: column.heading && "row",
                class: [column.right ? "right" : column.wide && "wide", column.className].filter(Boolean).join(" "),
              },
              column.cell(row),
            ),
          ),
        ),
      ),
    );
    if (roving) oneStop(body);
    sorted(at);
  }

  fill();
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el(
      "table",
      { class: className },
      el("caption", { class: "hidden" }, caption),
      el("thead", null, el("tr", null, heads)),
      body,
    ),
  );
}

// Make the links and buttons of a table one stop of the Tab key. Arrows, Home and End move between them: left and right
// in a row, up and down between rows.
function oneStop(body) {
  const stops = () => [...body.querySelectorAll("a[href], button")];
  const rowOf = (stop) => [...stop.closest("tr").querySelectorAll("a[href], button")];
  const all = stops();
  all.forEach((stop, i) => stop.setAttribute("tabindex", i === 0 ? 0 : -1));
  if (body.dataset.roving) return;
  body.dataset.roving = "1";
  const move = (to) => {
    if (!to) return;
    for (const stop of body.querySelectorAll("[tabindex='0']")) stop.setAttribute("tabindex", -1);
    to.setAttribute("tabindex", 0);
    to.focus();
  };
  body.addEventListener("focusin", ({ target }) => {
    if (target.tabIndex !== -1 || !target.matches("a[href], button")) return;
    for (const stop of body.querySelectorAll("[tabindex='0']")) stop.setAttribute("tabindex", -1);
    target.setAttribute("tabindex", 0);
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr") && rowOf(event.target);
    const at = row?.indexOf(event.target) ?? -1;
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const beside = (step) => {
      let next = event.target.closest("tr");
      do next = next[step];
      while (next && !next.querySelector("a[href], button"));
      // between head and body of a table
      if (!next) next = (step === "nextElementSibling" ? event.target.closest("thead")?.nextElementSibling : event.target.closest("tbody")?.previousElementSibling)?.querySelector("tr:has(a[href], button)");
      const others = next && body.contains(next) ? [...next.querySelectorAll("a[href], button")] : [];
      const column = event.target.closest("th, td").cellIndex;
      return others.find((stop) => stop.closest("th, td").cellIndex >= column) ?? others.at(-1);
    };
    const target = {
      ArrowRight: () => row[at + 1],
      ArrowLeft: () => row[at - 1],
      ArrowDown: () => beside("nextElementSibling"),
      ArrowUp: () => beside("previousElementSibling"),
      Home: () => (event.shiftKey ? stops()[0] : row[0]),
      End: () => (event.shiftKey ? stops().at(-1) : row.at(-1)),
    }[event.key];
    if (!target) return;
    event.preventDefault();
    move(target());
  });
}

// A choice that is a parameter of the view; options: [value, text]
function choice(name, title, options, fallback = "") {
  const select = el(
    "select",
    {
      id: `choose-${name}`,
      onchange: () => adjust({ [name]: select.value === fallback ? null : select.value }, { draw: true }),
    },
    options.map(([value, shown]) => el("option", { value, selected: param(name, fallback) === String(value) }, shown)),
  );
  return el("label", { class: "choice", for: `choose-${name}` }, el("span", null, title), select);
}

// Previous, a list of all, and next
function steps(view, name, at, names, what) {
  const to = (i, title, arrow) =>
    i < 0 || i >= names.length
      ? el("span", { class: "button off", "aria-hidden": "true" }, arrow)
      : el("a", { class: "button", href: address(view, { [name]: i }), "aria-label": `${title} ${what}` }, arrow);
  const select = el(
    "select",
    {
      id: "choose-one",
      "aria-label": `Choose a ${what}`,
      onchange: () => visit(address(view, { [name]: select.value })),
    },
    names.map((shown, i) => el("option", { value: i, selected: i === at }, shown)),
  );
  return el("div", { class: "steps" }, to(at - 1, "Previous", "←"), select, to(at + 1, "Next", "→"));
}

// Which part of a long list is shown; size: how many at once
function pages(name, total, size, what) {
  const last = Math.max(Math.ceil(total / size) - 1, 0);
  const at = clamp(integer(name, last + 1) ?? 0, 0, last);
  const begin = at * size;
  const turn = (i, title, arrow) =>
    el(
      "button",
      {
        type: "button",
        id: `${name}-${title}`,
        disabled: i < 0 || i > last,
        "aria-label": `${title} ${what}`,
        onclick: () => adjust({ [name]: i || null }, { draw: true }),
      },
      arrow,
    );
  const control =
    last > 0 &&
    el(
      "div",
      { class: "steps", role: "group", "aria-label": `Part of the ${what}` },
      turn(at - 1, "Previous", "←"),
      el("span", null, `${what} ${count(begin + 1)}–${count(Math.min(begin + size, total))} of ${count(total)}`),
      turn(at + 1, "Next", "→"),
    );
  return { begin, end: Math.min(begin + size, total), control };
}

// Links between the views of one tab
const under = (label, here, items) =>
  el(
    "nav",
    { class: "under", "aria-label": label },
    items.map(([view, title]) => el("a", { class: "button small", href: address(view), "aria-current": view === here && "page" }, title)),
  );

const controls = (...parts) => el("div", { class: "controls" }, parts);
const facts = (...items) =>
  el(
    "ul",
    { class: "facts" },
    items.filter(Boolean).map((item) => el("li", null, item)),
  );
// The heading of a view, which gets the focus after a link was followed
const heading = (...children) => el("h2", { id: "heading", tabindex: -1 }, children);
