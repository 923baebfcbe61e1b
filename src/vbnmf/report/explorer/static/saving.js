// Downloads: each section offers its numbers as CSV and its picture as SVG and PNG.

// A spreadsheet would take such a cell as a formula, which may run commands. An apostrophe before it prevents that.
const guarded = (text) => (/^'*[=+\-@\t\r]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? `'${text}` : text);

const csvCell = (value) => {
  const text = value === null || value === undefined ? "" : guarded(String(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csv = (rows) => rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");

function download(name, type, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: `${type};charset=utf-8` }));
  const anchor = el("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say(`${name} was saved.`);
}

// name: of the file; rows(): a table with its header; picture(): an svg element with colours of its own; slide(): the
// same, fit to one slide
function downloads(name, rows, picture, slide = picture) {
  const button = (kind, act) =>
    el("button", { type: "button", class: "small", "aria-label": `Download ${name} as ${kind}`, onclick: act }, kind);
  return el(
    "div",
    { class: "downloads" },
    button("CSV", () => download(`${name}.csv`, "text/csv", csv(rows()))),
    picture &&
      button("SVG", () => {
        const drawn = picture();
        drawn.setAttribute("xmlns", "http://www.w3.org/2000/svg");
        download(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(drawn));
      }),
    slide && button("PNG", () => painted(slide()).then((blob) => download(`${name}.png`, "image/png", blob))),
  );
}

// A part of a view: heading, what it says, downloads, content.
function section(title, lead, saving, ...content) {
  return el(
    "section",
    null,
    el("div", { class: "bar" }, el("h3", null, title), saving),
    lead && el("p", { class: "lead" }, lead),
    content,
  );
}
