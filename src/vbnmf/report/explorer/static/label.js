// Label: the components and terms that make it, the labels it shares components with, what it is confused with.

views.label = {
  title: "Label",
  draw() {
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
  },
};

function labelComponents(l) {
  const used = range(data.components.length)
    .map((k) => ({ k, part: data.use[l][k], activation: data.activations[l][k] }))
    .sort((a, b) => b.part - a.part);
  const shown = used.filter(({ part }) => part >= data.matters);
  const most = shown[0]?.part;
  return section(
    "Its components",
    `How much of the label each component makes up. Components below ${100 * data.matters} % are not listed; the CSV has all.`,
    downloads(
      `label-${l}-components`,
      () => [
        ["component", "name", "part", "mean coefficient", ...(scopes ? ["scope"] : [])],
        ...used.map(({ k, part, activation }) => [
          k,
          data.components[k].name,
          part,
          activation,
          ...(scopes ? [scopeWords(k)] : []),
        ]),
      ],
      () =>
        barsPicture(
          `${labelName(l)}: components`,
          shown.map(({ k, part }) => ({ name: componentName(k), value: part, text: percent(part) })),
        ),
    ),
    scopes
      ? BESIDE.map(([name, title]) => blockOfLabel(l, title, name, shown, most))
      : labelTable(`Components of label ${labelName(l)}`, shown, most),
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
      el("h4", null, `${title}: ${percent(blockNamed(name).labels[l])}`),
      labelTable(`Components of label ${labelName(l)}: ${title}`, rows, most, ["shared", "joined"].includes(name) ? others : () => null),
    ]
  );
}

// further(row): what is said under the name of a component
const labelTable = (caption, rows, most, further = () => null) =>
  table({
    caption,
    rows,
    className: "bars",
    columns: [
      { name: "Component", heading: true, cell: (row) => [componentLink(row.k), further(row)] },
      { name: "Part", right: true, cell: ({ part }) => percent(part) },
      { name: "", wide: true, cell: ({ part }) => bar(part, most) },
    ],
  });

function tellingTerms(l) {
  const terms = data.labels[l].terms.map(([w, p, lift]) => ({ w, p, lift }));
  const most = largest(terms.map(({ p }) => p));
  return section(
    "Its characteristic terms",
    terms.length
      ? "Terms that are more frequent in this label than in all documents. Part: how much of the label the term makes up. Lift: how many times more frequent it is."
      : "No term is more frequent in this label than in all documents.",
    downloads(
      `label-${l}-terms`,
      () => [["term", "part", "lift"], ...terms.map(({ w, p, lift }) => [termName(w), p, lift])],
      () =>
        barsPicture(
          `${labelName(l)}: terms`,
          terms.map(({ w, p }) => ({ name: termName(w), value: p, text: percent(p) })),
        ),
    ),
    terms.length > 0 &&
      table({
        caption: `Characteristic terms of label ${labelName(l)}`,
        rows: terms,
        className: "bars",
        columns: [
          { name: "Term", heading: true, cell: ({ w }) => termLink(w) },
          { name: "Part", right: true, cell: ({ p }) => percent(p) },
          { name: "", wide: true, cell: ({ p }) => bar(p, most) },
          { name: "Lift", right: true, cell: ({ lift }) => times(lift) },
        ],
      }),
  );
}

function neighbours(l) {
  const near = data.labels[l].neighbours;
  const common = scopes && blockNamed("common");
  const counted = common ? " Components that serve all labels are not counted." : "";
  const listed = `In common: how much of both labels is made of the same components.${counted}`;
  const none = `It has less than 5 % in common with every other label.${counted}`;
  return section(
    "Labels it shares components with",
    near.length ? listed : none,
    near.length > 0 &&
      downloads(
        `label-${l}-neighbours`,
        () => [
          ["label", "in common", "by components"],
          ...near.map(([m, part, by]) => [labelName(m), part, by.join(" ")]),
        ],
        () =>
          barsPicture(
            `${labelName(l)}: labels in common`,
            near.map(([m, part]) => ({ name: labelName(m), value: part, text: percent(part) })),
          ),
      ),
    near.length > 0 &&
      table({
        caption: `Labels that share components with ${labelName(l)}`,
        rows: near,
        columns: [
          { name: "Label", heading: true, cell: ([m]) => labelLink(m) },
          { name: "In common", right: true, cell: ([, part]) => percent(part) },
          {
            name: "Shared components",
            cell: ([, , by]) => by.map((k, i) => [i > 0 && " ", el("span", { class: "nowrap" }, componentLink(k))]),
          },
        ],
      }),
  );
}
