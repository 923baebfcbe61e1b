// Document: one document with its terms tinted, its coefficients and the evidence. Lists of documents are in lists.js.

const TINTS = 6; // components with a colour of their own in a text

if (data.documents) {
  views.document = {
    title: "Documents",
    draw: () => {
      const d = integer("d", data.documents.shown);
      return d === null ? drawList() : withDocuments((docs) => drawDocument(docs, d), entitle);
    },
  };
}

function drawDocument(docs, d) {
  const found = chosenDocuments(docs);
  const at = found.indexOf(d);
  const filters = listQuery();
  const to = (i, title, arrow) =>
    at < 0 || i < 0 || i >= found.length
      ? el("span", { class: "button off", "aria-hidden": "true" }, arrow)
      : el(
          "a",
          {
            class: "button",
            href: address("document", { ...filters, d: found[i] }),
            "aria-label": `${title} document`,
          },
          arrow,
        );
  const parts = pairs(docs.coefficients[d]);
  const tints = new Map(parts.slice(0, TINTS).map(([k], i) => [k, i]));
  return [
    heading("Document ", bdi(docs.ids[d])),
    controls(
      el(
        "div",
        { class: "steps" },
        to(at - 1, "Previous", "←"),
        el("a", { class: "button", href: address("document", filters) }, "All documents"),
        to(at + 1, "Next", "→"),
      ),
    ),
    facts(
      docs.truth?.[d] && ["given ", labelsWithP(docs.truth[d], docs.p_truth?.[d], labelLink)],
      docs.given && [
        "predicted ",
        docs.given[d].length ? labelsWithP(docs.given[d], docs.p[d], labelLink) : "no label",
      ],
    ),
    el(
      "div",
      { class: "two wider" },
      section(
        "Text",
        docs.texts
          ? docs.marks && "A term has the colour of the component it is assigned to. Grey: a component that is not listed."
          : "Its terms, those with the largest weight first. A term has the colour of the component it is assigned to.",
        null,
        tinted(docs, d, tints),
      ),
      el("div", null, coefficients(docs, d, parts, tints), docs.why && evidence(docs, d)),
    ),
  ];
}

function tinted(docs, d, tints) {
  const mark = (content, i) => {
    const [w, k] = [docs.terms[d][i], docs.owed[d][i]];
    const tint = tints.get(k);
    return el(
      "a",
      {
        class: `term tint${tint ?? "x"}`,
        href: address(w < 0 ? "component" : "term", w < 0 ? { k } : { w }),
        title: `${termName(w)}: ${componentName(k)}`,
      },
      content,
    );
  };
  if (!docs.texts)
    return el(
      "p",
      { class: "text", dir: "auto" },
      docs.terms[d].map((w, i) => [mark(termName(w), i), " "]),
    );
  const shown = [...plainText(docs, d)].length; // characters, not UTF-16 units
  return [
    el("p", { class: "text", dir: "auto" }, docs.marks ? markedPieces(docs, d, mark) : plainText(docs, d)),
    docs.lengths[d] > shown &&
      el("p", { class: "quiet" }, `Cut after ${count(shown)} of ${count(docs.lengths[d])} characters.`),
    !docs.marks && el("p", { class: "quiet" }, "The terms of this model are not words, so they cannot be marked."),
  ];
}

// A text with its terms marked. The number 0 means the same term as before for the same characters, or the next new term.
function markedPieces(docs, d, mark) {
  const meant = new Map();
  let next = 0;
  return docs.texts[d].split(MARK).map((piece, i) => {
    if (i % 2 === 0) return piece;
    const code = docs.marks[d][(i - 1) / 2];
    const term = code > 0 ? code - 1 : (meant.get(piece) ?? next);
    meant.set(piece, term);
    next = Math.max(next, term + 1);
    return mark(piece, term);
  });
}

function coefficients(docs, d, parts, tints) {
  const rest = 1000 - parts.reduce((sum, [, part]) => sum + part, 0);
  return section(
    "What it is made of",
    "How much of the document's weight each component explains, as the model estimates it from the terms alone.",
    downloads(
      `document-${d}-components`,
      () => [["component", "name", "share"], ...parts.map(([k, part]) => [k, data.components[k].name, part / 1000])],
      () =>
        barsPicture(
          `${docs.ids[d]}: components`,
          parts.map(([k, part]) => ({ name: componentName(k), value: part, text: percent(part / 1000) })),
        ),
    ),
    table({
      caption: "Components of the document",
      rows: parts,
      className: "bars",
      columns: [
        {
          name: "Component",
          heading: true,
          cell: ([k]) => [
            el("span", { class: `swatch tint${tints.get(k) ?? "x"}`, "aria-hidden": "true" }),
            componentLink(k),
          ],
        },
        { name: "Share", right: true, cell: ([, part]) => percent(part / 1000) },
        { name: "", wide: true, cell: ([, part]) => bar(part, parts[0][1]) },
      ],
    }),
    rest >= 5 && el("p", { class: "quiet" }, `${percent(rest / 1000)} in other components.`),
  );
}

function evidence(docs, d) {
  const whys = docs.why[d];
  const rows = whys.flatMap(([l, , components, terms]) => [
    ...pairs(components).map(([k, part]) => [labelName(l), "component", componentName(k), part]),
    ...pairs(terms).map(([w, part]) => [labelName(l), "term", termName(w), part]),
  ]);
  const most = largest(rows.map((row) => row[3]));
  const role = (l, i) =>
    [docs.given[d].includes(l) ? "predicted" : i === 1 && "runner-up", docs.truth?.[d]?.includes(l) && "given"]
      .filter(Boolean)
      .join(", ");
  return section(
    "Why this label",
    whys.length
      ? `Evidence for the most probable label${["", "", " and the second", ", the second and the given label", ", the second and the given labels"][Math.min(whys.length, 4)]}. Each number is a contribution to the label's score, compared with ${data.several ? "a document without terms" : "the mean score of all labels"}. Terms contribute through all components and as single words; of the components, only those that speak for the label are listed. Only the largest positive contributions are listed.`
      : "The document has no term that the model knows. The prediction follows only from how common each label is.",
    whys.length > 0 &&
      downloads(
        `document-${d}-evidence`,
        () => [["label", "kind", "name", "contribution"], ...rows],
        () =>
          barsPicture(
            `${docs.ids[d]}: evidence`,
            rows.map(([label, , name, part]) => ({
              name: `${label}: ${name}`,
              value: part,
              text: `+${part.toFixed(2)}`,
            })),
          ),
      ),
    whys.map(([l, p, components, terms, share], i) => [
      el("h4", null, labelLink(l), ` ${percent(p)} `, el("span", { class: "tag" }, role(l, i))),
      share < 1 &&
        el("p", { class: "quiet" }, `${percent(share)} of the score comes from components, the rest from single words (by absolute value).`),
      [
        ["Component", components, componentLink],
        ["Term", terms, termLink],
      ].map(
        ([name, parts, linked]) =>
          parts.length > 0 &&
          table({
            caption: `${name}s that are evidence for ${labelName(l)}`,
            className: "bars",
            rows: pairs(parts),
            columns: [
              { name, heading: true, cell: ([i]) => linked(i) },
              { name: "Contribution", right: true, cell: ([, part]) => `+${part.toFixed(2)}` },
              { name: "", wide: true, cell: ([, part]) => bar(part, most) },
            ],
          }),
      ),
    ]),
  );
}
