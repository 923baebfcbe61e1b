// Label: its words, the topics inside it, documents to check, what it is confused with, and the labels near it.

const THERE = 8; // terms of a component in a label that are shown

if (data.labels.length) views.label = { title: "Label", draw: drawLabel };

function drawLabel() {
  const l = integer("l", data.labels.length) ?? data.order.labels[0];
  const label = data.labels[l];
  const score = data.quality?.by_label?.[l];
  const parts = labelParts(l);
  return [
    heading("Label ", bdi(label.name)),
    controls(
      steps(
        "label",
        "l",
        l,
        data.labels.map((one) => one.name),
        "label",
      ),
      views.compare && data.near[l].length > 0 && link("compare", { a: l, b: data.near[l][0][0] }, `Compare with ${labelName(data.near[l][0][0])}`),
    ),
    naming("labels", label),
    facts(
      `${plural(label.documents, "training document")}`,
      score && score[0] > 0 && `recall ${percent(score[1])} on ${plural(score[0], "document")}`,
      score && (score[2] === null ? "never predicted" : `precision ${percent(score[2])}`),
      parts && `expected: ${partsInWords(parts)}`,
      data.fit.component_shares && `components contribute ${percent(data.fit.component_shares[l])} of its score, words themselves the rest`,
      fidelityOfLabel(l),
    ),
    el(
      "div",
      { class: "two" },
      el("div", null, tellingTerms(l), nearLabels(l)),
      el(
        "div",
        null,
        labelComponents(l),
        data.overview && labelSuspects(l),
        data.overview && labelConfusions(l),
        data.documents?.labelled && data.quality?.by_label && confusedDocuments(l),
      ),
    ),
  ];
}

// Training documents without a label are among those that are elsewhere, and are said to be
const withUnlabelled = () =>
  data.unlabelled === 0 ? "" : `, including ${data.unlabelled === null ? "any" : count(data.unlabelled)} without a label, which may have this one`;

// Two bars, one over the other: the share of the label's documents, and of the others
const twoBars = (here, there) =>
  svg(
    "svg",
    { class: "both", viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { x: 0, y: 1, width: (100 * here).toFixed(2), height: 7, class: "here" }),
    svg("rect", { x: 0, y: 9, width: (100 * there).toFixed(2), height: 4, class: "there" }),
  );

// Documents of the label that are typical of a component, with the beginning of their texts
function topicDocuments(l, k) {
  const [, ...flat] = data.documents?.topics?.[l]?.find(([topic]) => topic === k) ?? [k];
  const found = pairs(flat);
  if (!found.length) return null;
  const place = el("div");
  documents().then((docs) => {
    place.replaceChildren(
      ...found.map(([d, part]) =>
        el(
          "div",
          { class: "topic" },
          link("document", { d }, bdi(docs.ids[d])),
          ` (${percent(part / 1000)}) `,
          bdi(documentText(docs, d).replace(/\s+/g, " ").trim().slice(0, 140)),
        ),
      ),
    );
  }, () => {});
  return place;
}

function labelSuspects(l) {
  const found = suspects(l);
  return (
    found.length > 0 &&
    withDocuments((docs) =>
      section(
        `Documents to check (${count(new Set(found.map(({ d }) => d)).size)})`,
        "Their given label looks like an error. The most suspicious come first.",
        null,
        el(
          "ul",
          { class: "cards" },
          [...new Set(found.map(({ d }) => d))].slice(0, 3).map((d) => documentCard(docs, d, null, { only: "check", check: l })),
        ),
        el("p", null, views.review ? link("review", { l }, "Review them") : link("document", { only: "check", check: l }, "Show all")),
      ),
    )
  );
}

function labelConfusions(l) {
  const rows = data.documents.confusions[l] ?? [];
  return (
    rows.length > 0 &&
    section(
      "Confusions, and the words that cause them",
      `Documents given ${labelName(l)} and predicted as another label; the words that speak most for the prediction in them, with the number of these documents in which each is among the strongest.`,
      downloads(`label-${l}-confusions`, () => [
        ["given", "predicted", "documents", "words"],
        ...rows.map(([m, n, words]) => [labelName(l), labelName(m), n, pairs(words).map(([w, times]) => `${termName(w)} ${times}`).join("; ")]),
      ]),
      table({
        caption: `Labels predicted for documents of ${labelName(l)}`,
        rows,
        className: "bars",
        columns: [
          { name: "Predicted", heading: true, cell: ([m]) => labelLink(m) },
          { name: "Documents", right: true, cell: ([m, n]) => countedLink({ truth: l, given: m, only: "confused" }, n) },
          { name: "Words for it", cell: ([, , words]) => pairs(words).map(([w, times], i) => [i > 0 && ", ", termLink(w), el("span", { class: "tag" }, ` ${count(times)}`)]) },
        ],
      }),
    )
  );
}

function nearLabels(l) {
  const rows = data.near[l];
  const known = Boolean(data.overview);
  return section(
    "Nearest labels",
    rows.length
      ? `By words: cosine of the shares of training documents that have each word. By components: the share of both labels' weight that the model expects from the same components, without those of all labels.${known ? " By confusions: documents of this page given one and predicted as the other." : ""}`
      : "No other label is near.",
    rows.length > 0 &&
      downloads(`label-${l}-near`, () => [
        ["label", "similar words", "expected in common", "given this, predicted that", "given that, predicted this"],
        ...rows.map(([m, cosine, common, there, back]) => [labelName(m), cosine === null ? null : cosine / 100, common, there, back]),
      ]),
    rows.length > 0 &&
      table({
        caption: `Labels near ${labelName(l)}`,
        rows,
        className: "dense",
        columns: [
          { name: "Label", heading: true, cell: ([m]) => labelLink(m) },
          { name: "By words", right: true, cell: ([, cosine]) => percent(cosine === null ? null : cosine / 100) },
          { name: "By components", right: true, cell: ([, , common]) => percent(common) },
          ...(known
            ? [
                { name: "Predicted as it", right: true, cell: ([m, , , there]) => (there ? countedLink({ truth: l, given: m, only: "confused" }, there) : "0") },
                { name: "And back", right: true, cell: ([m, , , , back]) => (back ? countedLink({ truth: m, given: l, only: "confused" }, back) : "0") },
              ]
            : []),
          ...(views.compare ? [{ name: "Compare", cell: ([m]) => link("compare", { a: l, b: m }, "compare") }] : []),
        ],
      }),
  );
}

function labelComponents(l) {
  const found = partsInDocuments(l);
  const there = data.labels[l].there;
  const used = range(data.components.length)
    .map((k) => ({ k, part: data.use[l][k], found: found?.[k] ?? null, activation: data.activations[l][k] }))
    .sort((a, b) => b.part - a.part);
  const shown = used.filter(({ part }) => part >= data.matters);
  const most = shown[0]?.part;
  return section(
    "Topics inside it",
    [
      "Expected share: of the label's weight, by the model; not a count of documents.",
      found &&
        " In documents: the same in documents of this page, estimated without their labels.",
      data.documents && " Below each: two typical documents of the label.",
      there && ` Here: its first words that training documents of the label have.`,
      ` The CSV has also those below ${100 * data.matters} %.`,
    ],
    downloads(
      `label-${l}-components`,
      () => [
        [
          ...["component", "name", "expected share"],
          ...(found ? ["share in documents"] : []),
          "mean coefficient",
          ...(scopes ? ["scope"] : []),
          ...(there ? ["terms here"] : []),
        ],
        ...used.map(({ k, part, found: inDocuments, activation }) => [
          ...[k, data.components[k].name, part],
          ...(found ? [inDocuments] : []),
          activation,
          ...(scopes ? [scopeWords(k)] : []),
          ...(there ? [(there[k] ?? []).map(termName).join(" ")] : []),
        ]),
      ],
      () =>
        barsPicture(
          `${labelName(l)}: expected share of each component`,
          shown.map(({ k, part }) => ({ name: componentName(k), value: part, text: percent(part) })),
        ),
    ),
    scopes
      ? BESIDE.map(([name, title]) => blockOfLabel(l, title, name, shown, most))
      : labelTable(l, `Components of label ${labelName(l)}`, shown, most),
  );
}

// Blocks of a label's components, its own first
const BESIDE = [
  ["own", "Specific to this label"],
  ["shared", "Shared with other labels"],
  ["joined", "Joined with different terms of other labels"],
  ["common", "Common to all labels"],
];

function blockOfLabel(l, title, name, used, most) {
  const rows = used.filter(({ k }) => blockOf(k) === name);
  const others = ({ k }) => el("div", { class: "quiet" }, "with ", sharedWith(k, l));
  return (
    rows.length > 0 && [
      el("h4", null, `${title}: expected share ${percent(blockNamed(name).labels[l])}`),
      labelTable(l, `Components of label ${labelName(l)}: ${title}`, rows, most, ["shared", "joined"].includes(name) ? others : () => null),
    ]
  );
}

// further(row): what is said under the name of a component
const labelTable = (l, caption, rows, most, further = () => null) =>
  table({
    caption,
    rows,
    className: "bars parts",
    columns: [
      { name: "Component", heading: true, cell: (row) => [componentLink(row.k), termsThere(l, row.k), further(row), topicDocuments(l, row.k)] },
      { name: "Expected share", right: true, cell: ({ part }) => percent(part) },
      { name: "", wide: true, cell: ({ part }) => bar(part, most) },
      ...(partsInDocuments(l) ? [{ name: "In documents", right: true, cell: ({ found }) => percent(found) }] : []),
    ],
  });

// Parts of components in the documents of the page that have the label; null if there are none
const partsInDocuments = (l) => (data.quality?.label_parts?.[l]?.length ? data.quality.label_parts[l] : null);

// Terms of a component that documents of the label have
function termsThere(l, k) {
  const found = (data.labels[l].there?.[k] ?? []).slice(0, THERE);
  return found.length > 0 && el("div", { class: "there quiet" }, "here: ", bdi(found.map(termName).join(" ")));
}

function tellingTerms(l) {
  const label = data.labels[l];
  const terms = label.terms.map(([w, here, elsewhere, odds, low, high, chance]) => ({ w, here, elsewhere, odds, low, high, chance }));
  const most = label.documents;
  return section(
    "Its words",
    terms.length
      ? `Words that a larger share of this label's ${plural(label.documents, "training document")} has than of the ${count(label.elsewhere)} elsewhere${withUnlabelled()}; the documents that have each are counted. Log-odds: of a document here against elsewhere, with its 95 % interval.${terms.some(({ chance }) => chance) ? " Of the words that may be chance, half or more could be there if documents had their labels at random." : ""}`
      : "No term is in a larger share of this label's documents than elsewhere.",
    downloads(
      `label-${l}-terms`,
      () => [
        ["term", "documents", "elsewhere", "log-odds", "low", "high", "may be chance"],
        ...terms.map(({ w, here, elsewhere, odds, low, high, chance }) => [termName(w), here, elsewhere, odds, low, high, chance ? "yes" : "no"]),
      ],
      () =>
        barsPicture(
          `${labelName(l)}: documents that have the term`,
          terms.map(({ w, here }) => ({ name: termName(w), value: here, text: count(here) })),
        ),
    ),
    terms.length > 0 &&
      table({
        caption: `Characteristic terms of label ${labelName(l)}`,
        rows: terms,
        className: "bars",
        columns: [
          { name: "Word", heading: true, cell: ({ w }) => termLink(w) },
          {
            name: "Its documents; elsewhere",
            cell: ({ here, elsewhere, chance }) => [
              twoBars(here / most, elsewhere / Math.max(label.elsewhere, 1)),
              el("span", { class: "quiet" }, `in ${count(here)} of ${plural(most, "document")}; ${percent(label.elsewhere ? elsewhere / label.elsewhere : 0)} elsewhere${chance ? "; may be chance" : ""}`),
            ],
          },
          {
            name: "Log-odds",
            right: true,
            cell: ({ odds, low, high }) => [number(odds, 2), el("span", { class: "quiet" }, ` ${number(low, 2)} to ${number(high, 2)}`)],
          },
        ],
      }),
  );
}
