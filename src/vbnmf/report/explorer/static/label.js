// Label: the components and terms that make it, the labels it shares components with, what it is confused with.

const THERE = 8; // terms of a component in a label that are shown

if (data.labels.length) views.label = { title: "Label", draw: drawLabel };

function drawLabel() {
    const l = integer("l", data.labels.length) ?? data.order.labels[0];
    const label = data.labels[l];
    const score = data.quality?.by_label?.[l];
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
      ),
      facts(
        `${plural(label.documents, "training document")}`,
        score && score[0] > 0 && `recall ${percent(score[1])} on ${plural(score[0], "document")}`,
        score && (score[2] === null ? "never predicted" : `precision ${percent(score[2])}`),
        data.fit.component_shares && `components contribute ${percent(data.fit.component_shares[l])} of its score, single words the rest`,
        fidelityOfLabel(l),
        label.nearest?.length > 0 && [
          "nearest by terms: ",
          label.nearest.map(([m], i) => [i > 0 && ", ", labelLink(m)]),
        ],
      ),
      el(
        "div",
        { class: "two" },
        el(
          "div",
          null,
          labelComponents(l),
          neighbours(l),
          data.documents?.labelled && data.quality?.by_label && confusedDocuments(l),
        ),
        tellingTerms(l),
      ),
    ];
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
    "Its components",
    [
      "Expected share: the share of the label's weight that the model expects from the component. It is not a count of documents.",
      found &&
        " In documents: its share of the weight of the label's documents that this page was made with, estimated from their terms without their labels.",
      there && ` Here: the first ${THERE} terms of the component that training documents of this label have.`,
      ` Components below ${100 * data.matters} % are not listed; the CSV has all${there ? ", with more of their terms here" : ""}.`,
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
      { name: "Component", heading: true, cell: (row) => [componentLink(row.k), termsThere(l, row.k), further(row)] },
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
  if (!label.terms)
    return section(
      "Its characteristic terms",
      "The model is from an older file, in which the documents that have a term were not counted. Fit it again to see them.",
    );
  const terms = label.terms.map(([w, here, elsewhere, odds, low, high]) => ({ w, here, elsewhere, odds, low, high }));
  const most = label.documents;
  return section(
    "Its characteristic terms",
    terms.length
      ? `Terms that a larger share of this label's ${plural(label.documents, "training document")} has than of the ${count(label.elsewhere)} elsewhere. The documents that have the term are counted. Log-odds: of a document here against elsewhere, with its 95 % interval.`
      : "No term is in a larger share of this label's documents than elsewhere.",
    downloads(
      `label-${l}-terms`,
      () => [
        ["term", "documents", "elsewhere", "log-odds", "low", "high"],
        ...terms.map(({ w, here, elsewhere, odds, low, high }) => [termName(w), here, elsewhere, odds, low, high]),
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
          { name: "Term", heading: true, cell: ({ w }) => termLink(w) },
          { name: `Here, of ${count(label.documents)}`, right: true, cell: ({ here }) => count(here) },
          { name: "", wide: true, cell: ({ here }) => bar(here, most) },
          { name: `Elsewhere, of ${count(label.elsewhere)}`, right: true, cell: ({ elsewhere }) => count(elsewhere) },
          {
            name: "Log-odds",
            right: true,
            cell: ({ odds, low, high }) => [number(odds, 2), el("span", { class: "quiet" }, ` ${number(low, 2)} to ${number(high, 2)}`)],
          },
        ],
      }),
  );
}

function neighbours(l) {
  const near = data.labels[l].neighbours;
  const common = scopes && blockNamed("common");
  const counted = common ? " Components that serve all labels are not counted." : "";
  const listed = `Expected in common: the share of both labels' weight that the model expects from the same components.${counted}`;
  const none = `The model expects less than 5 % of its weight in common with every other label.${counted}`;
  return section(
    "Labels it shares components with",
    near.length ? listed : none,
    near.length > 0 &&
      downloads(
        `label-${l}-neighbours`,
        () => [
          ["label", "expected in common", "by components"],
          ...near.map(([m, part, by]) => [labelName(m), part, by.join(" ")]),
        ],
        () =>
          barsPicture(
            `${labelName(l)}: expected in common with other labels`,
            near.map(([m, part]) => ({ name: labelName(m), value: part, text: percent(part) })),
          ),
      ),
    near.length > 0 &&
      table({
        caption: `Labels that share components with ${labelName(l)}`,
        rows: near,
        columns: [
          { name: "Label", heading: true, cell: ([m]) => labelLink(m) },
          { name: "Expected in common", right: true, cell: ([, part]) => percent(part) },
          {
            name: "Shared components",
            cell: ([, , by]) => by.map((k, i) => [i > 0 && " ", el("span", { class: "nowrap" }, componentLink(k))]),
          },
        ],
      }),
  );
}
