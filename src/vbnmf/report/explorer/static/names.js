// Names and notes: labels and components can be renamed, and anything can have a note. They are kept in the browser by
// the content of the page, and saved as one JSON file. Links by name survive a new fit.

const notesName = `vbnmf-names-${data.key}-${data.title}`;
for (const one of [...data.labels, ...data.components]) one.original = one.name;
const originalLabel = (l) => (l < data.labels.length ? data.labels[l].original : data.documents.names[l]);
let given = { labels: {}, components: {}, notes: {}, ...(data.names ?? {}), ...loadNames() };
applyNames();

function loadNames() {
  try {
    return JSON.parse(localStorage.getItem(notesName)) ?? {};
  } catch {
    return {}; // not allowed in some frames: they are kept until the page is closed
  }
}

// Names are set in the data, so that all views, pictures and tables have them.
function applyNames() {
  for (const label of data.labels) label.name = own(given.labels, label.original) || label.original;
  for (const component of data.components) component.name = own(given.components, component.original) || component.original;
  data.labels.forEach((label, l) => {
    if (data.documents && data.documents.names.length) data.documents.names[l] = label.name;
    lowerNames.label[l] = label.name.toLowerCase();
  });
  data.components.forEach((component, k) => {
    lowerNames.component[k] = `${component.name} #${k}`.toLowerCase();
  });
  for (const scope of data.scopes?.components ?? []) {
    scope.pattern ??= scope.words; // numbers of labels stand between marks
    scope.words = scope.pattern.replace(/\x7f(\d+)\x7f/g, (_, l) => data.labels[l].name);
  }
}

function keepNames(change) {
  given = { ...given, ...change };
  try {
    localStorage.setItem(notesName, JSON.stringify(given));
  } catch {
    /* as above */
  }
  applyNames();
  redraw();
}

const without = (record, key) => Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));

// Buttons to rename something, to note something about it, and to copy a link to it. kind: "labels" or "components"
function naming(kind, one) {
  const note = own(given.notes, `${kind}: ${one.original}`) ?? "";
  const input = el("input", { id: "new-name", value: one.name, "aria-label": "New name", maxlength: 200 });
  const form = el(
    "form",
    {
      class: "naming",
      hidden: true,
      onsubmit: (event) => {
        event.preventDefault();
        const name = input.value.trim();
        const others = without(given[kind], one.original);
        keepNames({ [kind]: name && name !== one.original ? { ...others, [one.original]: name } : others });
        say(`It is now called ${one.name}.`);
        document.getElementById("rename")?.focus();
      },
    },
    input,
    el("button", { type: "submit" }, "Save"),
    el("span", { class: "quiet" }, "Empty: the first name. Names stay in this browser; save them in About."),
  );
  const text = el("textarea", {
    id: "note",
    rows: 2,
    "aria-label": "Note",
    onchange: () => {
      const key = `${kind}: ${one.original}`;
      keepNames({ notes: text.value.trim() ? { ...given.notes, [key]: text.value.trim() } : without(given.notes, key) });
    },
  });
  text.value = note;
  const noted = el("details", { open: note !== "" }, el("summary", null, "Note"), text);
  return el(
    "div",
    { class: "named" },
    one.name !== one.original && el("p", { class: "quiet" }, "first called ", bdi(one.original)),
    el(
      "div",
      { class: "tools" },
      el(
        "button",
        {
          type: "button",
          id: "rename",
          class: "small",
          onclick: () => {
            form.hidden = !form.hidden;
            if (!form.hidden) input.select();
          },
        },
        "Rename",
      ),
      el("button", { type: "button", id: "copy-link", class: "small", onclick: () => copyLink(kind === "labels" ? "label" : "component", one.original) }, "Copy link"),
    ),
    form,
    noted,
  );
}

// A link by name: after a new fit it finds the same label or component, if there is one
function copyLink(view, name) {
  adjust({ view, name, l: null, k: null });
  const done = () => say("The link was copied.");
  navigator.clipboard?.writeText(location.href).then(done, () => say("The link is in the address bar."));
}

// Find what a link by name means. Returns a message if it is gone.
function resolveName() {
  const name = state.get("name");
  const [list, at] = own({ label: [data.labels, "l"], component: [data.components, "k"] }, state.get("view")) ?? [];
  if (name === null || !list) return null;
  const found = list.findIndex((one) => one.original === name);
  const place = found >= 0 ? found : list.findIndex((one) => one.name === name);
  if (place >= 0) {
    if (!state.has(at)) state.set(at, place);
    return null;
  }
  return `This page has no ${state.get("view")} called “${name}”. It may have another name since the model was fitted again.`;
}

// All names and notes as one file, which can be read by another page
const namesFile = () => JSON.stringify({ format: 1, labels: given.labels, components: given.components, notes: given.notes }, null, 1);

function namesSection() {
  const rows = [
    ...["labels", "components"].flatMap((kind) => Object.entries(given[kind]).map(([old, name]) => [kind.slice(0, -1), old, name])),
    ...Object.entries(given.notes).map(([what, note]) => ["note", what, note]),
  ];
  return section(
    "Names and notes",
    "Labels and components can be renamed in their views, and have notes. They are kept in this browser; the JSON file has all of them, for `vbnmf report --names FILE`.",
    el(
      "div",
      { class: "downloads" },
      el("button", { type: "button", class: "small", "aria-label": "Download names and notes as JSON", onclick: () => download("names.json", "application/json", namesFile()) }, "JSON"),
    ),
    rows.length > 0 &&
      table({
        caption: "Names and notes",
        rows,
        columns: [
          { name: "Kind", cell: ([kind]) => kind },
          { name: "Of", heading: true, cell: ([, old]) => bdi(old) },
          { name: "Name or note", cell: ([, , name]) => bdi(name) },
        ],
      }),
  );
}
