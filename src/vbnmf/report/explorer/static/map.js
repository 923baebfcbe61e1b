// Map: labels × components as a table that can be sorted. With many labels it begins with labels × labels: how similar
// they are.

const MATTERS = data.matters; // a component of less than this share of every label is left out at first
const [ROWS, COLUMNS] = [60, 150]; // most labels and components on the map at once

const FEW = 40; // labels up to which the map has components in its columns at first

if (data.labels.length) views.map = { title: "Map", draw: () => (mapKind() === "labels" ? drawOverlap() : drawMap()) };

const mapKind = () => (data.similar ? param("kind", data.labels.length > FEW ? "labels" : "components") : "components");

const kindOfMap = () =>
  data.similar &&
  choice("kind", "Map of", [
    ["components", "labels and components"],
    ["labels", "labels and labels"],
  ], data.labels.length > FEW ? "labels" : "components");

// The same order from the other end, if labels there have more in common
function denseFirst(labels) {
  const half = labels.length / 2;
  const sum = (some) => some.reduce((total, l) => total + pairs(data.similar[l]).reduce((all, [, part]) => all + part, 0), 0);
  return sum(labels.slice(0, Math.floor(half))) < sum(labels.slice(Math.ceil(half))) ? [...labels].reverse() : labels;
}

// Labels × labels: how similar the words of their documents are
function drawOverlap() {
  const labels = param("rows") ? orderedLabels(data.use) : denseFirst(data.order.words);
  const shown = pages("row", labels.length, COLUMNS, "labels");
  const [rows, pairsOf] = [labels.slice(shown.begin, shown.end), data.similar.map((row) => new Map(pairs(row)))];
  const value = (l, m) => (l === m ? 0 : (pairsOf[l].get(m) ?? 0) / 100);
  const most = largest(rows.flatMap((l) => rows.map((m) => value(l, m))), 0.5);
  const title = `${data.title}: similar labels`;
  return [
    heading("Labels that are similar"),
    listOrMap("map"),
    el("p", { class: "lead" }, "Each cell says how similar the words of two labels are: the cosine of the shares of their training documents that have each word, in per cent; rare words count more. Cells below 10 % are empty. Select a number to compare the two labels."),
    controls(
      kindOfMap(),
      choice("rows", "Order of labels", labelOrders().slice(0, 3), "alike"),
      shown.control,
      downloads(
        "similar-labels",
        () => [["label", ...labels.map(labelName)], ...labels.map((l) => [labelName(l), ...labels.map((m) => (l === m ? 1 : value(l, m)))])],
        () => slidePicture(title, rows.map(labelName), rows.map(labelName), rows.map((l) => rows.map((m) => value(l, m) / most))),
      ),
    ),
    gridTable(
      "Labels that are similar",
      rows.map((l) => labelLink(l)),
      rows.map((m) => labelLink(m)),
      (i, j) => {
        const v = value(rows[i], rows[j]);
        return rows[i] === rows[j] ? { className: "right-one" } : v > 0 ? { part: v / most, content: link("compare", { a: rows[i], b: rows[j] }, whole(v)) } : {};
      },
    ),
  ];
}

// A table of shaded cells. cell(i, j): {part, content, className}
function gridTable(caption, rowHeads, columnHeads, cell, blocksRow = null, colgroups = null) {
  const made = el(
    "table",
    null,
    el("caption", { class: "hidden" }, caption),
    colgroups,
    el(
      "thead",
      null,
      blocksRow,
      el("tr", null, el("td", { class: "corner" }), columnHeads.map((head) => el("th", { scope: "col" }, el("div", { class: "column" }, head)))),
    ),
    el(
      "tbody",
      null,
      rowHeads.map((head, i) =>
        el(
          "tr",
          null,
          el("th", { scope: "row" }, head),
          columnHeads.map((_, j) => {
            const { part, content, className } = cell(i, j);
            return el("td", { class: className, "--part": part ? part.toFixed(3) : null }, content);
          }),
        ),
      ),
    ),
  );
  oneStop(made);
  return el("div", { class: "scroll map", tabindex: 0, role: "region", "aria-label": caption }, made);
}

function drawMap() {
  const measures = {
    part: {
      name: "expected share of the label's weight",
      about: "Each number is the percentage of the label's weight that the model expects the component to explain. It is not a count of documents.",
      values: data.use,
      least: 0.2,
      text: (v) => (v >= 0.005 ? whole(v) : ""),
    },
    ...(data.quality?.labelled > 0 && {
      found: {
        name: "share of the label's documents' weight, estimated",
        about: `Each number is the percentage of the weight of the label's documents, among the ${count(data.quality.labelled)} labelled ones that this page was made with, that the component explains. It is estimated from their terms without their labels.`,
        values: data.labels.map((_, l) => (data.quality.label_parts[l].length ? data.quality.label_parts[l] : data.components.map(() => 0))),
        least: 0.2,
        text: (v) => (v >= 0.005 ? whole(v) : ""),
      },
    }),
    activation: {
      name: "mean coefficient",
      about: "Each number is the mean coefficient of the component in the label's training documents.",
      values: data.activations,
      least: 1e-12,
      text: (v) => (v > 0 ? number(v, 2) : ""),
    },
  };
  const measure = own(measures, param("measure", "part")) ?? measures.part;
  const values = measure.values;
  const most = largest(values.flat(), measure.least); // the full colour
  const matters = range(data.components.length).filter((k) => data.use.some((row) => row[k] >= MATTERS));
  const all = param("all") === "1" || !matters.length;
  const labels = orderedLabels(values);
  const components = orderedComponents(values, new Set(all ? range(data.components.length) : matters));
  const rows = pages("row", labels.length, ROWS, "labels");
  const columns = pages("column", components.length, COLUMNS, "components");
  const [l, k] = [labels.slice(rows.begin, rows.end), components.slice(columns.begin, columns.end)];
  const blocks = scopes && param("columns", "alike") === "alike" ? columnBlocks(k) : [];
  const left = data.components.length - matters.length;
  return [
    heading("Labels and their components"),
    listOrMap("map"),
    el(
      "p",
      { class: "lead" },
      `${plural(data.labels.length, "label")} in rows, ${plural(data.components.length, "component")} in columns. `,
      data.several && "A document may have several labels. ",
      measure.about,
      measure !== measures.activation && " Cells below 0.5 % are empty.",
    ),
    el(
      "details",
      null,
      el("summary", null, "More about this map"),
      el(
        "p",
        { class: "lead" },
        `${ABOUT_COMPONENTS}`,
        blocks.length > 0 &&
          ` Columns are grouped by the labels that a component serves. Of the training documents' weight, as the model explains it, ${inBlocks(scopes.blocks.map((block) => `${percent(block.mass)} comes from components`))}.`,
        " Select a label or a component for details. Use the arrows to sort.",
      ),
    ),
    controls(
      kindOfMap(),
      choice(
        "measure",
        "Show",
        [
          ["share", "expected share, %"],
          ...(measures.found ? [["found", "share in documents, %"]] : []),
          ["activation", "mean coefficient"],
        ],
        "share",
      ),
      choice("rows", "Order of labels", labelOrders(), "alike"),
      choice("columns", "Order of components", componentOrders(), "alike"),
      left > 0 &&
        matters.length > 0 &&
        el(
          "label",
          { class: "check" },
          el("input", {
            type: "checkbox",
            id: "all",
            checked: all,
            onchange: () => adjust({ all: all ? null : "1", column: null }, { draw: true }),
          }),
          ` show ${plural(left, "component")} below ${100 * MATTERS} % in every label`,
        ),
      rows.control,
      columns.control,
      downloads(
        "map",
        () => [
          ["label", ...components.map((c) => componentName(c))],
          ...labels.map((i) => [labelName(i), ...components.map((c) => values[i][c])]),
        ],
        () =>
          mapPicture(
            l.map(labelName),
            k.map(componentName),
            l.map((i) => k.map((c) => values[i][c] / most)),
            l.map((i) => k.map((c) => measure.text(values[i][c]))),
            blocks,
          ),
        () =>
          slidePicture(
            `${data.title}: labels and their components`,
            l.map(labelName),
            k.map(componentName),
            l.map((i) => k.map((c) => values[i][c] / most)),
          ),
      ),
    ),
    mapTable(l, k, blocks, values, most, measure),
  ];
}

function mapTable(labels, components, blocks, values, most, measure) {
  const begins = new Set(blocks.slice(1).map(({ begin }) => begin));
  const [byComponent, byLabel] = [sortedBy("rows"), sortedBy("columns")];
  const sorter = (name, i, title, on) =>
    el(
      "button",
      {
        type: "button",
        class: "sort tiny",
        id: `${name}-by-${i}`,
        "aria-pressed": String(on),
        "aria-label": title,
        title,
        onclick: () => adjust({ [name]: on ? null : `by${i}`, row: null, column: null }, { draw: true }),
      },
      name === "rows" ? "↓" : "→",
    );
  const head = components.map((k, i) =>
    el(
      "th",
      { scope: "col", class: begins.has(i) && "begin", "aria-sort": byComponent === k && "descending" },
      el("div", { class: "column" }, componentLink(k)),
      sorter("rows", k, `Sort labels by component ${componentName(k)}`, byComponent === k),
    ),
  );
  const rows = labels.map((l) =>
    el(
      "tr",
      null,
      el(
        "th",
        { scope: "row" },
        el(
          "div",
          { class: "row" },
          labelLink(l),
          sorter("columns", l, `Sort components by label ${labelName(l)}`, byLabel === l),
        ),
      ),
      components.map((k, i) => {
        const shown = measure.text(values[l][k]);
        const part = shown ? (values[l][k] / most).toFixed(3) : null;
        return el("td", { class: begins.has(i) && "begin", "--part": part }, shown);
      }),
    ),
  );
  const made = el(
      "table",
      null,
      el("caption", { class: "hidden" }, `Labels in rows, components in columns; ${measure.name}`),
      blocks.length > 0 && [el("colgroup"), blocks.map(({ size }) => el("colgroup", { span: size }))],
      el(
        "thead",
        null,
        blocks.length > 0 && el("tr", { class: "blocks" }, el("td", { class: "corner" }), blocks.map(blockHead)),
        el("tr", null, el("td", { class: "corner" }), head),
      ),
      el("tbody", null, rows),
  );
  oneStop(made);
  return el(
    "div",
    {
      class: "scroll map",
      tabindex: 0,
      role: "region",
      "aria-label": "Map of labels and components",
      onscroll: ({ currentTarget: map }) =>
        map.style.setProperty("--names", `${map.querySelector(".corner").offsetWidth}px`), // beside which names of blocks stay
    },
    made,
  );
}

const blockHead = ({ name, begin, size }) =>
  el(
    "th",
    { scope: "colgroup", colspan: size, class: begin > 0 && "begin", title: blockNamed(name)?.title },
    el("span", null, name),
  );

const sortedBy = (name) => {
  const match = /^by(\d+)$/.exec(param(name));
  return match ? Number(match[1]) : null;
};

const labelOrders = () => {
  const by = sortedBy("rows");
  return [
    ["alike", "similar ones together"],
    ["name", "by name"],
    ["documents", "by number of documents"],
    ...(data.components[by] ? [[`by${by}`, `by component ${componentName(by)}`]] : []),
  ];
};

const componentOrders = () => {
  const by = sortedBy("columns");
  return [
    ["alike", scopes ? "by the labels they serve" : "similar ones together"],
    ["mass", "by weight"],
    ["number", "by number"],
    ["name", "by name"],
    ...(data.labels[by] ? [[`by${by}`, `by label ${labelName(by)}`]] : []),
  ];
};

function orderedLabels(values) {
  const by = sortedBy("rows");
  const order = [...data.order.labels];
  if (data.components[by]) return order.sort((a, b) => values[b][by] - values[a][by]);
  if (param("rows") === "name") return order.sort((a, b) => labelName(a).localeCompare(labelName(b)));
  if (param("rows") === "documents") return order.sort((a, b) => data.labels[b].documents - data.labels[a].documents);
  return order;
}

function orderedComponents(values, shown) {
  const by = sortedBy("columns");
  const order = data.order.components.filter((k) => shown.has(k));
  if (data.labels[by]) return order.sort((a, b) => values[by][b] - values[by][a]);
  if (param("columns") === "mass") return order.sort((a, b) => data.components[b].mass - data.components[a].mass);
  if (param("columns") === "number") return order.sort((a, b) => a - b);
  if (param("columns") === "name")
    return order.sort((a, b) => data.components[a].name.localeCompare(data.components[b].name));
  return order;
}
