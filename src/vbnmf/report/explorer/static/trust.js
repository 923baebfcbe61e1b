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
        trustOrTest("trust"),
        quality?.by_label
          ? [data.overview && trained(), data.overview && accepting(), scores(quality), quality.confusion && confusions(quality.confusion), calibration(quality), quality.label_fidelity && recounted(quality)]
          : el("p", { class: "lead" }, "Nothing is known without labelled documents. Make the page with `--documents FILE`, a file of documents that the model was not fitted to."),
      ];
    },
  };
}

function scores(quality) {
  const rows = quality.by_label
    .map(([n, found, right], l) => ({ l, n, found, right }))
    .filter(({ n, l }) => n > 0 || l < data.labels.length)
    .sort((a, b) => b.n - a.n);
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
        { name: "Predicted", className: "names", cell: ({ j }) => labelLink(j) },
        { name: "Documents", right: true, cell: ({ i, j, value }) => shown(i, j, value) },
      ],
    }),
  );
}

// A warning where documents were in training
function trained() {
  const { trained: n, are_training: left, matched, judged } = data.overview;
  if (!n && matched) return null;
  if (left) return el("p", { class: "notice", id: "trained" }, `${judged} So recall and precision below are what to expect of new documents like these. Calibration is a little too good, because probabilities were calibrated on these documents.`);
  const much = n ? `Recall, precision and calibration below are too good for ${n === 1 ? "this document" : "these documents"}. ` : "";
  return el("p", { class: "notice", id: "trained" }, `${judged} ${much}Use documents that the model was not fitted to.`);
}

// Which predictions can be accepted: a threshold, what it accepts, and how much of that is right; for all and each label
function accepting() {
  const { accept, best, predictions, goal } = data.overview;
  const what = data.several ? "predicted labels" : "documents";
  const first = best ?? 80;
  const at = () => integer("accept", 101) ?? first;
  const of = (i, t) => ({ all: accept[i][0], taken: accept[i][2 * t], right: accept[i][2 * t + 1] });
  const share = (n, all) => (all ? n / all : null);
  const said = el("p", { id: "accepted", class: "said" });
  const place = el("div");
  const rows = range(data.labels.length).filter((l) => accept[l + 1][0] > 0);
  const fill = () => {
    const t = at();
    const { taken, right } = of(0, t);
    said.textContent = `Accept from ${(t / 100).toFixed(2)} on: ${percent(share(taken, predictions), true)} of the ${what} (${count(taken)} of ${count(predictions)}), ${percent(share(right, taken), true)} of them right.`;
    place.replaceChildren(
      table({
        caption: "Accepted predictions by label",
        sorting: "accepted",
        rows,
        roving: true,
        className: "bars dense",
        columns: [
          { name: "Predicted label", heading: true, cell: (l) => labelLink(l), value: labelName },
          { name: "Predictions", right: true, cell: (l) => count(of(l + 1, t).all), value: (l) => of(l + 1, t).all },
          { name: "Accepted", right: true, cell: (l) => percent(share(of(l + 1, t).taken, of(l + 1, t).all)), value: (l) => share(of(l + 1, t).taken, of(l + 1, t).all) },
          { name: "", wide: true, cell: (l) => bar(share(of(l + 1, t).taken, of(l + 1, t).all) ?? 0, 1) },
          { name: "Of them right", right: true, cell: (l) => percent(share(of(l + 1, t).right, of(l + 1, t).taken)), value: (l) => share(of(l + 1, t).right, of(l + 1, t).taken) },
        ],
      }),
    );
  };
  const output = el("output", { for: "accept" }, (at() / 100).toFixed(2));
  const input = el("input", {
    type: "range",
    id: "accept",
    min: 0,
    max: 100,
    step: 1,
    value: at(),
    "aria-valuetext": (at() / 100).toFixed(2),
    oninput: () => {
      adjust({ accept: input.value });
      output.textContent = (at() / 100).toFixed(2);
      input.setAttribute("aria-valuetext", output.textContent);
      fill();
    },
  });
  fill();
  return section(
    "What can be accepted automatically",
    [
      "Predictions with at least this probability are accepted without a look. Right: the label is a given one. ",
      best !== null
        ? `Of thresholds in steps of 0.01, ${(best / 100).toFixed(2)} is the lowest at which at least ${percent(goal)} of them are right.`
        : `No threshold accepts enough predictions with ${percent(goal)} right.`,
    ],
    downloads("accepted", () => [
      ["threshold", "label", "predictions", "accepted", "right"],
      ...range(101).flatMap((t) => [[t / 100, "(all)", ...Object.values(of(0, t))], ...rows.map((l) => [t / 100, labelName(l), ...Object.values(of(l + 1, t))])]),
    ]),
    el("div", { class: "slider wideslider" }, el("label", { for: "accept" }, "Accept from this probability"), output, input),
    said,
    el("details", null, el("summary", null, "For each label"), place),
  );
}

const FEW_IN_BIN = 20; // predictions in a bin below which no line goes through it

function calibration(quality) {
  const points = quality.calibration.map(([p, hit, n, low, high]) => ({ p, hit, n, low, high }));
  const draw = (colours) => reliabilityPicture(points, colours);
  return section(
    "Whether probabilities hold",
    `Each dot is a group of predictions with similar probability: the larger the dot, the more predictions. Lines are 95 % intervals. On the dashed line probabilities hold exactly: four in five ${data.several ? "labels" : "predictions"} with a probability of 80 % are right. No line goes through groups of fewer than ${FEW_IN_BIN}. Expected calibration error: ${percent(data.measures.find(({ key }) => key === "calibration_error").value)}.`,
    downloads(
      "calibration",
      () => [["probability", "share right", "number", "low", "high"], ...quality.calibration],
      () => draw(PRINT),
    ),
    draw(SCREEN),
    el(
      "details",
      null,
      el("summary", null, "The numbers"),
      table({
        caption: "Calibration",
        rows: points,
        columns: [
          { name: "Probability", right: true, cell: ({ p }) => percent(p) },
          { name: "Share right", right: true, cell: ({ hit }) => percent(hit) },
          { name: "95 % interval", right: true, cell: ({ low, high }) => `${percent(low)} to ${percent(high)}` },
          { name: "Number", right: true, cell: ({ n }) => count(n) },
        ],
      }),
    ),
  );
}

function reliabilityPicture(points, colours) {
  const [width, height, left, bottom, top] = [560, 420, 64, 48, 16];
  const x = (v) => left + (width - left - 24) * v;
  const y = (v) => height - bottom - (height - bottom - top) * v;
  const most = largest(points.map(({ n }) => n));
  const enough = points.filter(({ n }) => n >= FEW_IN_BIN);
  const drawn = frame(
    width,
    height,
    colours,
    [0, 0.25, 0.5, 0.75, 1].map((v) => [
      svg("line", { x1: left, x2: width - 24, y1: y(v), y2: y(v), stroke: colours.line }),
      text(left - 8, y(v) + 4, `${100 * v} %`, { "text-anchor": "end", fill: colours.soft }),
      text(x(v), height - bottom + 18, `${100 * v} %`, { "text-anchor": "middle", fill: colours.soft }),
    ]),
    text(left + (width - left) / 2, height - 8, "probability", { "text-anchor": "middle", fill: colours.soft }),
    text(16, height / 2, "share right", { "text-anchor": "middle", fill: colours.soft, transform: `rotate(-90 16 ${height / 2})` }),
    svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), stroke: colours.soft, "stroke-dasharray": "4 4" }),
    enough.length > 1 && svg("polyline", { points: enough.map(({ p, hit }) => `${x(p)},${y(hit)}`).join(" "), fill: "none", stroke: colours.accent, "stroke-width": 1.5 }),
    points.map(({ p, hit, n, low, high }) => [
      svg("line", { x1: x(p), x2: x(p), y1: y(low), y2: y(high), stroke: colours.accent, "stroke-width": 1.5 }),
      svg("circle", { cx: x(p), cy: y(hit), r: (3 + 9 * Math.sqrt(n / most)).toFixed(1), fill: colours.accent, opacity: n >= FEW_IN_BIN ? 1 : 0.45 }, svg("title", null, `${count(n)} predictions: ${percent(hit)} right`)),
    ]),
  );
  return put(drawn, { class: "curve", role: "img", "aria-label": "Calibration: probability against share right, with intervals" }, []);
}
