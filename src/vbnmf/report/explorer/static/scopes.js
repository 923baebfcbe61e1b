// Scopes: which labels a component serves, in words computed in Python; blocks of columns, and their parts.

const scopes = data.scopes; // null if every component serves every label
const scopeWords = (k) => scopes?.components[k].words;
const blockOf = (k) => (scopes.components[k].kind === "background" ? "common" : scopes.components[k].kind);
const blockNamed = (name) => scopes.blocks.find((block) => block.name === name);

// Blocks of columns beside each other: {name, begin, size}
function columnBlocks(components) {
  const found = [];
  components.forEach((k, i) => {
    const name = scopes.columns[k];
    if (found.at(-1)?.name === name) found.at(-1).size += 1;
    else found.push({ name, begin: i, size: 1 });
  });
  return found;
}

// How much of something is common, shared and own, in words; parts: as many as there are blocks, as texts
const inBlocks = (parts) => scopes.blocks.map((block, i) => `${parts[i]} ${block.title}`).join(", ");

// Parts of a term in the blocks, in whole per cent; the payload leaves out the last, which has the rest
function termInBlocks(w) {
  const n = scopes.blocks.length - 1;
  const known = scopes.terms.slice(w * n, (w + 1) * n);
  return [...known, 100 - known.reduce((sum, part) => sum + part, 0)].map((part) => `${whole(part / 100, true)}\u00a0%`);
}

// The other labels in a component's scope as links: all, the first of many, or their group
function sharedWith(k, l) {
  const { labels, group } = scopes.components[k];
  if (group) return ["the rest of ", bdi(group), ` (${plural(labels.length, "label")})`];
  const others = labels.filter((m) => m !== l);
  const shown = others.length > 4 ? others.slice(0, 3) : others;
  return [
    shown.map((m, i) => [i > 0 && ", ", labelLink(m)]),
    others.length > shown.length && ` and ${count(others.length - shown.length)} more`,
  ];
}

function scopeMeasures() {
  const rows = scopes.blocks;
  return section(
    "Scopes",
    "How much of the training documents' weight the model explains by components that serve all labels, several labels or one label. A component of several labels is called shared unless its labels take different terms from it.",
    downloads(
      "scopes",
      () => [["scope", "components", "share"], ...rows.map((row) => [row.title, row.components, row.mass])],
      () =>
        barsPicture(
          "Weight by scope",
          rows.map((row) => ({ name: row.title, value: row.mass, text: percent(row.mass) })),
        ),
    ),
    table({
      caption: "Weight by scope",
      rows,
      className: "bars",
      columns: [
        { name: "Scope", heading: true, cell: (row) => row.title },
        { name: "Components", right: true, cell: (row) => count(row.components) },
        { name: "Share", right: true, cell: (row) => percent(row.mass) },
        { name: "", wide: true, cell: (row) => bar(row.mass, 1) },
      ],
    }),
  );
}
