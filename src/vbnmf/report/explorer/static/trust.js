// Trust: which predictions can be accepted, whether probabilities hold, and scores and confusions of each label.

// Names, documents and meanings of measures are those of Python (evaluation/measures.py).
const measuresAbout = (about) => data.measures.filter((one) => one.about === about);
const measureText = ({ value, percent: parts }) => (parts ? percent(value) : number(value));
const MATRIX = 40; // labels up to which confusions are a matrix

if (data.labels.length) {
  views.trust = {
    title: "Trust",
    draw() {
      const quality = data.quality;
      return [
        heading("How far to trust the predictions"),
        quality?.by_label
          ? [scores(quality), quality.confusion && confusions(quality.confusion), calibration(quality), quality.label_fidelity && recounted(quality)]
          : el("p", { class: "lead" }, "Nothing is known without labelled documents. Make the page with `--documents FILE`, a file of documents that the model was not fitted to."),
      ];
    },
  };
}

function scores(quality) {
  const rows = quality.by_label
    .map(([n, found, right], l) => ({ l, n, found, right }))
    .filter(({ n, l }) => n > 0 || l < data.labels.length);
  const empty = quality.empty ? ` ${plural(quality.empty, "document")} of all ${count(quality.documents)} without any known term.` : "";
  const found = measuresAbout("predictions");
  return section(
    "Predictions",
    `Of ${plural(quality.labelled, "labelled document")}${quality.labelled < quality.documents ? `, among ${count(quality.documents)} documents` : ""}.${empty} Recall: of the documents with this label, the share that was predicted as this label. Precision: of the documents predicted as this label, the share that has it.`,
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
  const { shown: listed, total } = data.documents;
  const some = listed < total ? ` Numbers count all documents. Where not all of them are among the ${count(listed)} on this page, the link has the number of those that are here.` : "";
  const shown = (i, j, value) =>
    data.documents.labelled && value
      ? countedLink({ truth: i, given: j, only: i === j ? "right" : "wrong" }, value)
      : value || "";
  if (n <= MATRIX) {
    return section(
      "Confusions",
      `Given labels in rows, predicted labels in columns. On the diagonal both are the same. A stronger colour means a more frequent confusion.${some}`,
      saving,
      el(
        "div",
        { class: "scroll map", tabindex: 0, role: "region", "aria-label": "Confusions" },
        el(
          "table",
          null,
          el("caption", { class: "hidden" }, "Given labels in rows, predicted labels in columns; numbers of documents"),
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
        { name: "Given label", heading: true, cell: ({ i }) => labelLink(i) },
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
    `The dashed line is perfect calibration: for example, four in five ${data.several ? "labels" : "predictions"} with a probability of 80 % are right. Expected calibration error: ${percent(data.measures.find(({ key }) => key === "calibration_error").value)}.`,
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
