// Quality: how far to trust the model. The fit, measures of components, and scores on labelled documents.

const MEASURES = {
  held_out_log_likelihood: [
    "Held-out log-likelihood",
    "log-probability of one half of each document, given the other half, per unit of weight; higher is better",
  ],
  diversity: ["Diversity", "share of distinct terms among the first 25 terms that describe each component; 1 if no two lists share a term"],
  exclusivity: [
    "Exclusivity",
    "mean share of a component in its ten heaviest terms: 1 if no other component uses them",
  ],
  component_sparsity: ["Sparsity of components", "Hoyer's measure: 1 if a component has a single term, 0 if all its terms are equal"],
  component_share: ["Component share", "mean part of the most probable label's score that comes from components, by absolute value; the rest comes from single words"],
  coefficient_sparsity: ["Sparsity of coefficients", "Hoyer's measure of the coefficients of these documents"],
  inter_label_sparsity: [
    "Inter-label sparsity",
    "near 1 if each label uses few components and each component serves few labels",
  ],
  npmi_documents: [
    "NPMI by documents",
    "how often the first ten terms that describe a component occur in the same documents: 1 always, 0 by chance, −1 never",
  ],
  npmi_windows: [
    "NPMI by windows of 10 tokens",
    "the same, for terms that occur within 10 tokens of each other",
  ],
};
const MATRIX = 40; // labels up to which confusions are a matrix

views.quality = {
  title: "Quality",
  draw() {
    const quality = data.quality;
    return [
      heading("How far to trust the model"),
      quality?.accuracy && scores(quality),
      quality?.confusion && confusions(quality.confusion),
      quality?.calibration && calibration(quality),
      quality?.truth && recounted(quality),
      !quality &&
        el(
          "p",
          { class: "lead" },
          "This page was made without documents and describes the fit only. With `--documents FILE` it also shows accuracy, confusions and calibration, and recounts what is said of labels.",
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
    `On all ${plural(quality.labelled, "document")} with known labels${quality.labelled < quality.documents ? `, of ${count(quality.documents)}` : ""}.${quality.empty ? ` ${plural(quality.empty, "document")} of the ${count(quality.documents)} without any known term.` : ""} Recall: of the documents with this label, the part that was predicted as this label. Precision: of the documents predicted as this label, the part that has it.${quality.accuracy["macro accuracy"] === undefined ? " Macro F1: mean over labels that documents have. Subset accuracy: part of the documents for which exactly the true labels were predicted." : " Macro accuracy: mean recall over labels that documents have."}`,
    downloads(
      "accuracy",
      () => [
        ["label", "documents", "recall", "precision"],
        ...rows.map(({ l, n, found, right }) => [labelName(l), n, found, right]),
      ],
      () =>
        barsPicture(
          "Recall of each label",
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
      className: "bars dense",
      columns: [
        { name: "Label", heading: true, cell: ({ l }) => labelLink(l), value: ({ l }) => labelName(l) },
        { name: "Documents", right: true, cell: ({ n }) => count(n), value: ({ n }) => n },
        { name: "Recall", right: true, cell: ({ found }) => percent(found), value: ({ found }) => found },
        { name: "", wide: true, cell: ({ found }) => bar(found ?? 0, 1) },
        { name: "Precision", right: true, cell: ({ right }) => percent(right), value: ({ right }) => right },
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
    () => [["label \\ predicted", ...names], ...matrix.map((row, i) => [names[i], ...row])],
    () =>
      mapPicture(
        names,
        names.slice(0, n),
        matrix.map((row, i) => row.slice(0, n).map((v, j) => (i === j ? 0 : v / most))),
        matrix.map((row) => row.slice(0, n).map((v) => v || "")),
      ),
  );
  // a number counts all documents, the list that it opens has those on the page
  const { shown: listed, total } = data.documents;
  const some = listed < total ? ` Numbers count all documents. The lists that they open show those of the ${count(listed)} documents on this page, and say how many of how many.` : "";
  const shown = (i, j, value) =>
    data.documents.labelled && value
      ? link("document", { truth: i, given: j, only: i === j ? "right" : "wrong" }, count(value))
      : value || "";
  if (n <= MATRIX) {
    return section(
      "Confusions",
      `True labels in rows, predicted labels in columns. The diagonal is correct. A stronger colour means a more frequent confusion.${some}`,
      saving,
      el(
        "div",
        { class: "scroll map", tabindex: 0, role: "region", "aria-label": "Confusions" },
        el(
          "table",
          null,
          el("caption", { class: "hidden" }, "True labels in rows, predicted labels in columns; numbers of documents"),
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
    `The ${count(Math.min(wrong.length, 50))} most frequent of ${count(wrong.length)} pairs of labels that were confused. The CSV has all.${some}`,
    saving,
    table({
      caption: "Confusions",
      rows: wrong.slice(0, 50),
      columns: [
        { name: "True label", heading: true, cell: ({ i }) => labelLink(i) },
        { name: "Predicted", cell: ({ j }) => labelLink(j) },
        { name: "Documents", right: true, cell: ({ i, j, value }) => shown(i, j, value) },
      ],
    }),
  );
}

function calibration(quality) {
  const points = quality.calibration.map(([p, hit]) => [p, hit]);
  const options = {
    x: "predicted probability",
    y: "observed frequency",
    unit: true,
    dots: true,
    label: "Calibration: predicted probability against observed frequency",
  };
  return section(
    "Calibration",
    `The dashed line is perfect calibration: for example, four in five ${data.several ? "labels" : "predictions"} with a probability of 80 % are correct. Expected calibration error: ${percent(quality.calibration_error)}.`,
    downloads(
      "calibration",
      () => [["probability", "frequency", "number"], ...quality.calibration],
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
          { name: "Probability", right: true, cell: ([p]) => percent(p) },
          { name: "Frequency", right: true, cell: ([, hit]) => percent(hit) },
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
    "How well the components predict held-out terms, how distinct they are, and how often their terms occur together.",
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
    `The lower bound of the log-probability of the training documents, by iteration. After ${plural(data.fit.iterations, "iteration")} it was ${number(data.fit.final_bound, 9)}.`,
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
    ...(data.fit.classifier ? [["prediction head", data.fit.classifier]] : []),
    ...(data.fit.classifier_reason ? [["reason", data.fit.classifier_reason]] : []),
    ["components", data.fit.n_components_reason],
    ["terms", count(data.terms.total)],
    ["training documents without a known term", count(data.fit.empty)],
    ...(data.fit.threshold === null ? [] : [["probability threshold of a label", number(data.fit.threshold)]]),
    ...Object.entries(data.fit.hyperparameters).map(([name, value]) => [name, number(value, 4)]),
    ...Object.entries(data.fit.versions),
    ...(data.command ? [["command", data.command]] : []),
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
