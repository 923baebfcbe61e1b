// Columns of the file: filters of lists of documents, and shares of labels and components by value or period.

const columnsOf = data.columns ?? [];
const groupName = (c, g) => {
  const { groups, values } = columnsOf[c];
  const [name, kind] = groups[g];
  const named = groups.filter(([, of]) => of === "value").length;
  return { value: name, other: `all other values (${count(values - named)})`, odd: "not a date", empty: "empty" }[kind];
};

// ---- filters, which all lists of documents share; the parameter in0 is of the first column, and so on

const COLUMN_FILTERS = columnsOf.map((_, c) => `in${c}`);

const columnChoices = () =>
  columnsOf.map(({ name, groups }, c) =>
    choice(`in${c}`, name, [["", "any"], ...groups.map(([, , n], g) => [g, `${groupName(c, g)} (${count(n)})`]).filter(([g]) => groups[g][2] > 0)]),
  );

// Whether a document has the values that are chosen; get(name): the parameter of a filter
function inColumns(docs, d, get = param) {
  return COLUMN_FILTERS.every((name, c) => !columnsOf[c].groups[get(name)] || String(docs.columns[c].groups[d]) === get(name));
}

// The columns that a list is filtered by: [[column, group], …]
const filteredBy = () =>
  COLUMN_FILTERS.map((name, c) => [c, integer(name, columnsOf[c].groups.length)]).filter(([, g]) => g !== null);

// The cells of a document: name, cell, column and group
const cellsOf = (docs, d) =>
  columnsOf
    .map(({ name }, c) => [name, docs.columns[c].cells[d], c, docs.columns[c].groups[d]])
    .filter(([, cell]) => cell !== "");

// ---- the view

if (columnsOf.length) views.columns = { title: "By column", draw: drawColumns };

const documentsOrColumns = (here) =>
  columnsOf.length > 0 &&
  under("Documents", here, [
    ["document", "All documents"],
    ["columns", `By ${columnsOf.length > 1 ? "column" : columnsOf[0].name}`],
  ]);

// The interval of 95 % of a share, by Wilson; as vbnmf.metrics.shares.share_interval
function shareInterval(k, n) {
  const z2 = 1.959963984540054 ** 2;
  const middle = (k + z2 / 2) / (n + z2);
  const reach = Math.sqrt(z2) * (Math.sqrt((k * (n - k)) / Math.max(n, 1) + z2 / 4) / (n + z2));
  return [k <= 0 ? 0 : Math.max(middle - reach, 0), k >= n ? 1 : Math.min(middle + reach, 1)];
}

// What is shown: rows of labels or components, with a share for each group: {i, name, link, n, p, cells: [{g, n, of, share, low, high}]}
function shareRows(c, of) {
  const found = columnsOf[c][of];
  const { documents: sizes, p } = found;
  if (of === "components")
    return found.rows.map((k, at) => ({
      i: k,
      name: componentName(k),
      link: () => componentLink(k),
      n: null,
      p: p[at],
      cells: sizes.map((n, g) => ({ g, n: null, of: n, share: found.shares[at][g], low: found.low[at][g], high: found.high[at][g] })),
    }));
  return found.counts
    .map((row, l) => ({
      i: l,
      name: labelName(l),
      link: () => labelLink(l),
      n: row.reduce((sum, k) => sum + k, 0),
      p: p[l],
      cells: sizes.map((n, g) => {
        const [low, high] = shareInterval(row[g], n);
        return n ? { g, n: row[g], of: n, share: row[g] / n, low, high } : { g, n: 0, of: 0, share: null, low: null, high: null };
      }),
    }))
    .filter(({ n }) => n > 0);
}

const KINDS = { given: "given labels", predicted: "predicted labels", components: "components" };
const isClear = (p) => p < 0.05;

function drawColumns() {
  const c = integer("column", columnsOf.length) ?? 0;
  const column = columnsOf[c];
  const kinds = Object.entries(KINDS).filter(([of]) => column[of]);
  const of = kinds.some(([one]) => one === param("of")) ? param("of") : kinds[0][0];
  const rows = shareRows(c, of).sort((a, b) => a.p - b.p || (b.n ?? 0) - (a.n ?? 0));
  const chosen = rows.find(({ i }) => String(i) === param("row")) ?? rows[0];
  return [
    heading("By ", bdi(column.name)),
    documentsOrColumns("columns"),
    el("p", { class: "lead" }, columnLead(c)),
    controls(
      columnsOf.length > 1 && choice("column", "Column", columnsOf.map(({ name }, i) => [i, name]), "0"),
      kinds.length > 1 && choice("of", "Shares of", kinds, kinds[0][0]),
    ),
    chosen && el("div", { class: "two uneven" }, sharesSection(c, of, rows, chosen), groupSection(c, of, chosen)),
  ];
}

function columnLead(c) {
  const { unit, groups, values } = columnsOf[c];
  const named = groups.filter(([, kind]) => kind === "value");
  const number = (kind) => groups.find(([, one]) => one === kind)?.[2] ?? 0;
  const said = unit
    ? [`Dates from ${named[0][0]} to ${named.at(-1)[0]}, by ${unit}.`]
    : [values > named.length ? `${count(values)} different values: the ${count(named.length)} commonest are shown, and all others are one group.` : `${plural(values, "value")}.`];
  if (number("empty")) said.push(`${plural(number("empty"), "document")} with an empty cell.`);
  if (number("odd")) said.push(`${plural(number("odd"), "cell")} that ${number("odd") === 1 ? "is no date" : "are no dates"}.`);
  return `${said.join(" ")} All ${plural(data.documents.total, "document")} are counted.`;
}

// All labels or components, each with a small chart of its shares
function sharesSection(c, of, rows, chosen) {
  const clear = rows.filter(({ p }) => isClear(p)).length;
  const { name, unit } = columnsOf[c];
  return section(
    `All ${KINDS[of]}`,
    `${of === "components" ? "The share of each component in the weight of the documents, as the model estimates it" : "The share of the documents that have each label"}, ${unit ? "over time" : "by value"}; each chart has a scale of its own. Least and most: of ${unit ? `${unit}s` : "values"} with at least ${ENOUGH} documents${unit ? "" : "; bars of others are pale"}. “Differs”: the shares differ by more than chance (χ² test, false discovery rate below 5 %). ${clear ? `${count(clear)} of ${count(rows.length)} do` : "None does"}.${of === "components" && rows.length < data.components.length ? ` The ${count(rows.length)} largest components are shown.` : ""}`,
    downloads(`shares-${name}`, () => [
      [of === "components" ? "component" : "label", name, "kind of value", "documents", "with it", "share", "low", "high", "adjusted p-value"],
      ...rows.flatMap((row) => row.cells.map(({ g, n, of: all, share, low, high }) => [row.name, groupName(c, g), columnsOf[c].groups[g][1], all, n, share, low, high, row.p])),
    ]),
    table({
      caption: `Shares by ${name}`,
      sorting: "sort",
      roving: true,
      className: "bars shares",
      rows,
      columns: [
        {
          name: of === "components" ? "Component" : "Label",
          heading: true,
          value: (row) => row.name,
          cell: (row) => put(link("columns", { column: c || null, of, row: row.i, sort: param("sort") }, bdi(row.name)), { "aria-current": row === chosen && "true" }, []),
        },
        ...(of === "components" ? [] : [{ name: "Documents", right: true, value: (row) => row.n, cell: (row) => count(row.n) }]),
        { name: unit ? "Over time" : "By value", wide: true, cell: (row) => strip(c, row) },
        { name: "Least and most", right: true, value: (row) => ends(c, row)[1], cell: (row) => (ends(c, row)[0] === null ? "–" : `${ends(c, row).map((share) => whole(share)).join(" – ")}\u00a0%`) },
        { name: "Differs", value: (row) => -row.p, right: true, cell: (row) => (isClear(row.p) ? "yes" : "–") },
      ],
    }),
  );
}

// The least and the largest share, among values of enough documents
const ENOUGH = 10;
const ends = (c, row) => {
  const shares = row.cells.filter(({ g, of }) => columnsOf[c].groups[g][1] === "value" && of >= ENOUGH).map(({ share }) => share);
  return shares.length ? [Math.min(...shares), Math.max(...shares)] : [null, null];
};

// A small chart: a line with its band over time, or a bar for each value
function strip(c, row) {
  const cells = row.cells.filter(({ g }) => columnsOf[c].groups[g][1] === "value");
  const most = largest(cells.map(({ share }) => share ?? 0));
  const y = (v) => (24 - 22 * clamp((v ?? 0) / most, 0, 1)).toFixed(1);
  const width = 100 / cells.length;
  const x = (i) => (width * (i + 0.5)).toFixed(2);
  const known = cells.map((cell, i) => [cell, i]).filter(([{ share }]) => share !== null);
  const points = (at) => known.map(([cell, i]) => `${x(i)},${y(cell[at])}`);
  return svg(
    "svg",
    { class: "strip", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" },
    columnsOf[c].unit && known.length > 1
      ? [
          svg("polygon", { class: "band", points: [...points("low"), ...points("high").reverse()].join(" ") }),
          svg("polyline", { points: points("share").join(" ") }),
        ]
      : known.map(([{ share, of }, i]) => svg("rect", { class: of < ENOUGH ? "band" : "fill", x: (width * (i + 0.1)).toFixed(2), width: (width * 0.8).toFixed(2), y: y(share), height: (24 - y(share)).toFixed(1) })),
  );
}

// One label or component: its share in the documents of each value, with intervals and links to the documents
function groupSection(c, of, row) {
  const { name, groups } = columnsOf[c];
  const cells = row.cells.filter(({ g }) => groups[g][2] > 0);
  const most = largest(cells.map(({ high }) => high ?? 0));
  const query = of === "components" ? {} : { [of === "given" ? "truth" : "given"]: row.i };
  const some = of === "given" && cells.some(({ of: n, g }) => n < groups[g][2]);
  return section(
    row.name,
    [
      of === "components"
        ? "Its share of the weight of the documents of each value, as the model estimates it, with a 95 % interval. "
        : `Documents of each value that were ${of} this label: counted, and the 95 % interval of the share if these documents are a sample.${some ? " Shares are of the documents with a known label." : ""} `,
      of === "components" ? componentLink(row.i, "Show the component") : row.i < data.labels.length && link("label", { l: row.i }, "Show the label"),
    ],
    downloads(
      `shares-${name}-one`,
      () => [[name, "documents", "with it", "share", "low", "high"], ...cells.map(({ g, n, of: all, share, low, high }) => [groupName(c, g), all, n, share, low, high])],
      () => barsPicture(`${row.name} by ${name}`, cells.map(({ g, share, low, high }) => ({ name: groupName(c, g), value: share ?? 0, low, high, text: percent(share) }))),
    ),
    table({
      caption: `${row.name} by ${name}`,
      className: "bars bygroup",
      roving: true,
      rows: cells,
      columns: [
        { name, heading: true, cell: ({ g }) => (groups[g][1] === "value" ? bdi(groupName(c, g)) : el("span", { class: "quiet" }, groupName(c, g))) },
        { name: "Documents", right: true, cell: ({ g }) => countedLink({ [`in${c}`]: g, order: "file" }, groups[g][2]) },
        ...(of === "components" ? [] : [{ name: "With it", right: true, cell: ({ g, n }) => (n ? countedLink({ [`in${c}`]: g, ...query, order: "file" }, n) : "0") }]),
        { name: "Share", right: true, cell: ({ share }) => percent(share) },
        {
          name: "95 % interval",
          wide: true,
          cell: ({ share, low, high }) => share !== null && el("span", { class: "withbar", title: `${percent(low)} to ${percent(high)}` }, bar(share, most, low, high), el("span", { class: "hidden" }, `${percent(low)} to ${percent(high)}`)),
        },
      ],
    }),
  );
}
