// Quality: how far to trust the model. The fit, measures of components, and scores on labelled documents.

const MEASURES = {
  npmi_documents: [
    "NPMI by documents",
    "whether the ten strongest terms of components are in the same documents: 1 always, 0 by chance, −1 never",
  ],
  npmi_windows: [
    "NPMI by windows of 10 tokens",
    "whether they stand near each other in these documents: 1 always, 0 by chance, −1 never",
  ],
  diversity: ["Diversity", "part of the components' 25 strongest terms that are distinct"],
  exclusivity: [
    "Exclusivity",
    "mean share of a component in its ten strongest terms: 1 if no other component has them",
  ],
  held_out_log_likelihood: [
    "Held-out log-likelihood",
    "mean logarithm of the probability of half of each document's terms, by the other half: the nearer to 0 the better",
  ],
  component_sparsity: ["Sparsity of components", "Hoyer's: 1 a single term, 0 all terms alike"],
  component_share: ["Share of components", "of the decisions about labels; the rest is carried by single words"],
  coefficient_sparsity: ["Sparsity of coefficients", "Hoyer's, of these documents"],
  inter_label_sparsity: [
    "Inter-label sparsity",
    "near 1: each label uses few components, and each component serves few labels",
  ],
};
const MATRIX = 40; // labels up to which confusions are a matrix

views.quality = {
  title: "Quality",
  draw() {
    const quality = data.quality;
    return [
      heading("How far to trust it"),
      quality?.accuracy && scores(quality),
      quality?.confusion && confusions(quality.confusion),
      quality?.calibration && calibration(quality),
      !quality &&
        el(
          "p",
          { class: "lead" },
          "Made without documents: what follows is of the fit alone. With `--documents FILE` this page also shows accuracy, confusions and calibration.",
        ),
      measures(quality),
      scopes && scopeMeasures(),
      bound(),
      setting(),
    ];
  },
};

function scores(quality) {
  const rows = quality.by_label
    .map(([n, found, right], l) => ({ l, n, found, right }))
    .filter(({ n, l }) => n > 0 || l < data.labels.length);
  return section(
    "Predictions",
    `Of ${plural(quality.labelled, "document")} with known labels${quality.empty ? `; ${plural(quality.empty, "document")} without any known term` : ""}. Found: how many of the label's documents were given it. Right: how many of those given it have it.${quality.accuracy["macro accuracy"] === undefined ? "" : " Macro accuracy: the mean of Found, in which each label counts the same."}`,
    downloads(
      "accuracy",
      () => [
        ["label", "documents", "found", "right"],
        ...rows.map(({ l, n, found, right }) => [labelName(l), n, found, right]),
      ],
      () =>
        barsPicture(
          "Part of each label's documents that was found",
          rows.map(({ l, found }) => ({ name: labelName(l), value: found ?? 0, text: percent(found) })),
        ),
    ),
    el(
      "dl",
      { class: "big" },
      Object.entries(quality.accuracy).map(([name, value]) =>
        el("div", null, el("dt", null, name), el("dd", null, percent(value))),
      ),
    ),
    table({
      caption: "Predictions by label",
      sorting: "sort",
      rows,
      className: "bars",
      columns: [
        { name: "Label", heading: true, cell: ({ l }) => labelLink(l), value: ({ l }) => labelName(l) },
        { name: "Documents", right: true, cell: ({ n }) => count(n), value: ({ n }) => n },
        { name: "Found", right: true, cell: ({ found }) => percent(found), value: ({ found }) => found },
        { name: "", wide: true, cell: ({ found }) => bar(found ?? 0, 1) },
        { name: "Right", right: true, cell: ({ right }) => percent(right), value: ({ right }) => right },
      ],
    }),
  );
}

function confusions(matrix) {
  const [names, n] = [range(matrix.length).map(labelName), data.labels.length];
  const cells = matrix.flatMap((row, i) => row.map((value, j) => ({ i, j, value })));
  const most = largest(
    cells.filter(({ i, j }) => i !== j).map(({ value }) => value),
    1,
  );
  const wrong = cells.filter(({ i, j, value }) => i !== j && value > 0).sort((a, b) => b.value - a.value);
  const saving = downloads(
    "confusions",
    () => [["label \\ given", ...names], ...matrix.map((row, i) => [names[i], ...row])],
    () =>
      mapPicture(
        names,
        names.slice(0, n),
        matrix.map((row, i) => row.slice(0, n).map((v, j) => (i === j ? 0 : v / most))),
        matrix.map((row) => row.slice(0, n).map((v) => v || "")),
      ),
  );
  const shown = (i, j, value) =>
    data.documents.labelled && value
      ? link("document", { truth: i, given: j, only: i === j ? "right" : "wrong" }, count(value))
      : value || "";
  if (n <= MATRIX) {
    return section(
      "Confusions",
      "Labels of documents in rows, what they were given in columns. The stronger the colour, the more often confused; the diagonal is right.",
      saving,
      el(
        "div",
        { class: "scroll map", tabindex: 0, role: "region", "aria-label": "Confusions" },
        el(
          "table",
          null,
          el("caption", { class: "hidden" }, "Labels in rows, given labels in columns; numbers of documents"),
          el(
            "thead",
            null,
            el(
              "tr",
              null,
              el("td", { class: "corner" }),
              range(n).map((j) => el("th", { scope: "col" }, el("div", { class: "column" }, labelLink(j)))),
            ),
          ),
          el(
            "tbody",
            null,
            matrix.map(
              (row, i) =>
                row.some(Boolean) &&
                el(
                  "tr",
                  null,
                  el("th", { scope: "row" }, labelLink(i)),
                  row
                    .slice(0, n)
                    .map((value, j) =>
                      el(
                        "td",
                        {
                          class: i === j && "right-one",
                          "--part": i !== j && value ? (value / most).toFixed(3) : null,
                        },
                        shown(i, j, value),
                      ),
                    ),
                ),
            ),
          ),
        ),
      ),
    );
  }
  return section(
    "Confusions",
    `The ${count(Math.min(wrong.length, 50))} most frequent of ${count(wrong.length)}; the CSV has all.`,
    saving,
    table({
      caption: "Confusions",
      rows: wrong.slice(0, 50),
      columns: [
        { name: "Label", heading: true, cell: ({ i }) => labelLink(i) },
        { name: "Given", cell: ({ j }) => labelLink(j) },
        { name: "Documents", right: true, cell: ({ i, j, value }) => shown(i, j, value) },
      ],
    }),
  );
}

function calibration(quality) {
  const points = quality.calibration.map(([p, hit]) => [p, hit]);
  const options = {
    x: "probability told",
    y: "part that was so",
    unit: true,
    dots: true,
    label: "Calibration: probabilities told against the part that was so",
  };
  return section(
    "Calibration",
    `When it says 80 %, is it right four times in five? On the dashed line it is. Mean distance: ${percent(quality.calibration_error)}.`,
    downloads(
      "calibration",
      () => [["probability", "part", "number"], ...quality.calibration],
      () => curvePicture(points, { ...options, colours: PRINT }),
    ),
    curvePicture(points, options),
    el(
      "details",
      null,
      el("summary", null, "The numbers"),
      table({
        caption: "Calibration",
        rows: quality.calibration,
        columns: [
          { name: "Told", right: true, cell: ([p]) => percent(p) },
          { name: "Was so", right: true, cell: ([, hit]) => percent(hit) },
          { name: "Number", right: true, cell: ([, , n]) => count(n) },
        ],
      }),
    ),
  );
}

function measures(quality) {
  const found = { ...data.fit.measures, ...quality?.measures };
  const rows = Object.keys(MEASURES)
    .filter((key) => (found[key] ?? null) !== null)
    .map((key) => [...MEASURES[key], found[key]]);
  return section(
    "Components",
    "How readable and how different components are, and how well they tell the rest of a document.",
    downloads(
      "measures",
      () => [["measure", "value"], ...rows.map(([name, , value]) => [name, value])],
      () =>
        barsPicture(
          "Measures",
          rows.map(([name, , value]) => ({ name, value: Math.max(value, 0), text: number(value) })),
        ),
    ),
    table({
      caption: "Measures of components",
      rows,
      columns: [
        { name: "Measure", heading: true, cell: ([name]) => name },
        { name: "Value", right: true, cell: ([, , value]) => number(value) },
        { name: "Meaning", cell: ([, meaning]) => meaning },
      ],
    }),
  );
}

function bound() {
  const points = data.fit.bound.filter(([, value]) => value !== null);
  const label = `Lower bound: from ${number(points[0]?.[1], 6)} to ${number(points.at(-1)?.[1], 6)} in ${plural(data.fit.iterations, "iteration")}`;
  const options = { x: "iteration", y: "lower bound", label };
  return section(
    "The fit",
    `The lower bound, which training raises, must level off. ${plural(data.fit.iterations, "iteration")}; it ended at ${number(data.fit.final_bound, 9)}.`,
    downloads(
      "bound",
      () => [["iteration", "bound"], ...points],
      points.length > 0 && (() => curvePicture(points, { ...options, colours: PRINT })),
    ),
    points.length > 0 && curvePicture(points, options),
  );
}

function setting() {
  const rows = [
    ["model", data.fit.model],
    ...(data.fit.classifier ? [["what predicts", data.fit.classifier]] : []),
    ...(data.fit.classifier_reason ? [["why", data.fit.classifier_reason]] : []),
    ["components", data.fit.n_components_reason],
    ["terms", count(data.terms.total)],
    ["training documents without a known term", count(data.fit.empty)],
    ...(data.fit.threshold === null ? [] : [["probability from which a label is given", number(data.fit.threshold)]]),
    ...Object.entries(data.fit.hyperparameters).map(([name, value]) => [name, number(value, 4)]),
    ...Object.entries(data.fit.versions),
    ...(data.command ? [["made by", data.command]] : []),
  ];
  return section(
    "How it was made",
    null,
    downloads("setting", () => [["name", "value"], ...rows]),
    table({
      caption: "How it was made",
      rows,
      columns: [
        { name: "Name", heading: true, cell: ([name]) => name },
        { name: "Value", cell: ([, value]) => bdi(value) },
      ],
    }),
  );
}
