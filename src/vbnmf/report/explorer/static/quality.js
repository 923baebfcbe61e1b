// Quality: how far to trust the model. The fit, measures of components, and scores on labelled documents.

// Names, documents and meanings of measures are those of Python (evaluation/measures.py).
const measuresAbout = (about) => data.measures.filter((one) => one.about === about);
const measureText = ({ value, percent: parts }) => (parts ? percent(value) : number(value));
const MATRIX = 40; // labels up to which confusions are a matrix

views.quality = {
  title: "Quality",
  draw() {
    const quality = data.quality;
    return [
      heading("How far to trust the model"),
      quality?.by_label && scores(quality),
      quality?.confusion && confusions(quality.confusion),
      quality?.calibration && calibration(quality),
      quality?.label_fidelity && recounted(quality),
      !quality &&
        el(
          "p",
          { class: "lead" },
          "This page was made without documents and describes the fit only. With `--documents FILE` it also shows accuracy, confusions and calibration, and recounts what is said of labels.",
        ),
      measures(),
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
  const empty = quality.empty ? ` ${plural(quality.empty, "document")} of all ${count(quality.documents)} without any known term.` : "";
  const found = measuresAbout("predictions");
  return section(
    "Predictions",
    `Of ${plural(quality.labelled, "labelled document")}${quality.labelled < quality.documents ? `, among ${count(quality.documents)} documents` : ""}.${empty} Recall: of the documents with this label, the part that was predicted as this label. Precision: of the documents predicted as this label, the part that has it.`,
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
      found.map((one) =>
        el("div", { title: `${one.meaning}; of ${one.of}` }, el("dt", null, one.name), el("dd", null, measureText(one))),
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
    `The dashed line is perfect calibration: for example, four in five ${data.several ? "labels" : "predictions"} with a probability of 80 % are correct. Expected calibration error: ${percent(data.measures.find(({ key }) => key === "calibration_error").value)}.`,
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

function measures() {
  const rows = measuresAbout("components");
  return section(
    "Components",
    "How well the components predict held-out terms, how distinct they are, and how often their terms occur together. Measures that need no labels are of all documents.",
    downloads(
      "measures",
      () => [["measure", "value", "of"], ...rows.map(({ name, value, of }) => [name, value, of])],
      () =>
        barsPicture(
          "Measures",
          rows.map((one) => ({ name: one.name, value: Math.max(one.value, 0), text: measureText(one) })),
        ),
    ),
    table({
      caption: "Measures of components",
      rows,
      columns: [
        { name: "Measure", heading: true, cell: ({ name }) => name },
        { name: "Value", right: true, cell: measureText },
        { name: "Of", cell: ({ of }) => of },
        { name: "Meaning", cell: ({ meaning }) => meaning },
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
