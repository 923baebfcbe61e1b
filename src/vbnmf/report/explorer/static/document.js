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
  const shades = (docs.why?.[d] ?? []).map(([l]) => [String(l), `for and against ${labelName(l)}`]);
  const shade = param("shade", shades[0]?.[0] ?? "component");
  const shaded = docs.texts ? docs.why?.[d].find(([l]) => String(l) === shade) : null;
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
        at >= 0 && el("span", { class: "quiet" }, `${count(at + 1)} of ${count(found.length)}`),
      ),
      shades.length > 0 && choice("shade", "Shade", [...shades, ["component", "by component"]], shades[0][0]),
    ),
    facts(
      docs.truth?.[d] && ["given ", labelsWithP(docs.truth[d], docs.p_truth?.[d], labelLink)],
      docs.given && [
        "predicted ",
        docs.given[d].length ? labelsWithP(docs.given[d], docs.p[d], labelLink) : "no label",
      ],
      ...cellsOf(docs, d).map(([name, cell, c, g]) => [`${name} `, columnsOf[c].groups[g][1] === "value" ? link("document", { [`in${c}`]: g }, bdi(cell)) : bdi(cell)]),
    ),
    el(
      "div",
      { class: "two wider" },
      section(
        "Text",
        docs.texts
          ? shaded
            ? [
                el("span", { class: "shade for", "--part": 1 }, "speaks for"),
                " ",
                el("span", { class: "shade against", "--part": 1 }, "speaks against"),
                " ",
                bdi(labelName(shaded[0])),
                ". A stronger colour means a larger contribution; words of little weight have no colour.",
              ]
            : docs.marks && "A term has the colour of the component it is assigned to. Grey: a component that is not listed."
          : "Its terms, those with the largest weight first. A term has the colour of the component it is assigned to.",
        null,
        shaded ? shadedText(docs, d, shaded) : tinted(docs, d, tints),
      ),
      el("div", null, coefficients(docs, d, parts, tints), docs.why && evidence(docs, d)),
    ),
  ];
}

// The contributions of terms to a label: Map of term → contribution
function contributions([, , , terms, , against]) {
  const found = new Map();
  for (const [w, part] of [...pairs(terms), ...pairs(against)])
    if (typeof w === "string" || w >= 0) found.set(w, (found.get(w) ?? 0) + part);
  return found;
}

// A text, shaded by what speaks for and against a label. Where terms overlap, the strongest counts.
function shadedText(docs, d, why) {
  const text = plainText(docs, d);
  const parts = contributions(why);
  const most = largest([...parts.values()].map(Math.abs));
  const of = new Array(text.length).fill(null); // term at each character
  const order = [...parts].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  for (const [w] of order)
    for (const { begin, end } of occurrencesIn(docs, d, termName(w), typeof w === "string" ? null : w))
      for (let i = begin; i < end; i += 1) of[i] ??= { w, begin };
  const pieces = [];
  for (let i = 0; i < text.length; ) {
    let j = i + 1;
    while (j < text.length && of[j]?.w === of[i]?.w && (of[j]?.begin === of[i]?.begin || of[j] === null)) j += 1;
    const piece = text.slice(i, j);
    if (of[i] === null) pieces.push(piece);
    else {
      const part = parts.get(of[i].w);
      pieces.push(
        el(
          "a",
          {
            class: `shade ${part > 0 ? "for" : "against"}`,
            "--part": (Math.abs(part) / most).toFixed(3),
            href: typeof of[i].w === "string" ? undefined : address("term", { w: of[i].w }),
            title: `${termName(of[i].w)}: ${signed(part)}`,
          },
          piece,
        ),
      );
    }
    i = j;
  }
  return [el("p", { class: "text", dir: "auto" }, pieces), ...cutNotes(docs, d)];
}

const signed = (part) => `${part < 0 ? "−" : "+"}${Math.abs(part).toFixed(2)}`;

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
  return [
    el("p", { class: "text", dir: "auto" }, docs.marks ? markedPieces(docs, d, mark) : plainText(docs, d)),
    ...cutNotes(docs, d),
    !docs.marks && el("p", { class: "quiet" }, "The terms of this model are not words, so they cannot be marked."),
  ];
}

// Whether texts are cut on this page, in words
const cutInWords = (docs) => {
  const cut = docs.lengths?.filter((n) => n > data.documents.longest).length ?? 0;
  return cut > 0 ? ` ${plural(cut, "text is", "texts are")} cut after ${count(data.documents.longest)} characters.` : "";
};

function cutNotes(docs, d) {
  const shown = [...plainText(docs, d)].length; // characters, not UTF-16 units
  return docs.lengths[d] > shown ? [el("p", { class: "quiet" }, `Cut after ${count(shown)} of ${count(docs.lengths[d])} characters.`)] : [];
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

// The ways in which words contribute to the scores of this model
function howWordsContribute(whys) {
  const { features } = data.fit;
  if (!whys.some(([, , , , share]) => share < 1)) return "Words contribute through all components.";
  const beside = [["marks", "marks"], ["pairs", "pairs of words"]].filter(([kind]) => features.includes(kind)).map(([, words]) => words);
  return `Words contribute through all components${features.includes("pieces") ? ", as single words and by their pieces" : " and as single words"}${beside.length ? `; ${beside.join(" and ")} are listed like words` : ""}.`;
}

function evidence(docs, d) {
  const whys = docs.why[d];
  const rows = whys.flatMap(([l, , components, terms, , against]) => [
    ...pairs(components).map(([k, part]) => [labelName(l), "component", componentName(k), part]),
    ...pairs(terms).map(([w, part]) => [labelName(l), "term", termName(w), part]),
    ...pairs(against).map(([w, part]) => [labelName(l), "term against", termName(w), part]),
  ]);
  const most = largest(rows.map((row) => Math.abs(row[3])));
  const role = (l, i) =>
    [docs.given[d].includes(l) ? "predicted" : i === 1 && "runner-up", docs.truth?.[d]?.includes(l) && "given"]
      .filter(Boolean)
      .join(", ");
  return section(
    "Why this label",
    whys.length
      ? `Evidence for the most probable label${["", "", " and the second", ", the second and the given label", ", the second and the given labels"][Math.min(whys.length, 4)]}. Each number is a contribution to the label's score, compared with ${data.several ? "a document without terms" : "the mean score of all labels"}. ${howWordsContribute(whys)} Of the components, only those that speak for the label are listed. Only the largest contributions are listed.${data.overview?.are_training ? " Probabilities are of a model that did not see the document, contributions of the model that did." : ""}`
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
              value: Math.abs(part),
              text: signed(part),
            })),
          ),
      ),
    whys.map(([l, p, components, terms, share, against], i) => [
      el("h4", null, labelLink(l), ` ${percent(p)} `, el("span", { class: "tag" }, role(l, i))),
      share < 1 &&
        el("p", { class: "quiet" }, `${percent(share)} of the score comes from components, the rest from words themselves (by absolute value).`),
      [
        ["Component", components, componentLink],
        ["Word for it", terms, termLink],
        ["Word against it", against, termLink],
      ].map(
        ([name, parts, linked]) =>
          parts.length > 0 &&
          table({
            caption: `${name}: ${labelName(l)}`,
            className: "bars",
            rows: pairs(parts),
            columns: [
              { name, heading: true, cell: ([i]) => linked(i) },
              { name: "Contribution", right: true, cell: ([, part]) => signed(part) },
              { name: "", wide: true, cell: ([, part]) => bar(Math.abs(part), most) },
            ],
          }),
      ),
    ]),
  );
}
