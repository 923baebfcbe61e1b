// Labels, the first screen: four numbers, and one row for each label.

const SIX = 6; // words of a label in its row

if (data.labels.length) views.labels = { title: "Labels", draw: drawLabels };

function drawLabels() {
  const order = param("order", "documents");
  const rows = [...(data.order.words.length ? data.order.words : data.order.labels)];
  if (order === "documents") rows.sort((a, b) => data.labels[b].documents - data.labels[a].documents);
  if (order === "name") rows.sort((a, b) => labelName(a).localeCompare(labelName(b)));
  return [
    el("h2", { id: "heading", tabindex: -1, class: "hidden" }, "Labels"),
    headNumbers(),
    el(
      "div",
      { class: "bar slim" },
      el(
        "p",
        { class: "quiet" },
        "Documents, and shares of words, are of the label's training documents. ",
        data.overview ? `Recall, precision and confusions are of the documents of this page: given the label, predicted another.${manyTrained() && !data.overview.are_training ? " They are too good for those with the words of a training document." : ""}` : "Recall and precision need labelled documents.",
        legend(),
      ),
      el(
        "div",
        { class: "tools" },
        choice("order", "Order", [
          ["documents", "most documents first"],
          ["similar", "similar labels together"],
          ["name", "by name"],
        ], "documents"),
        downloads("labels", () => labelRows(rows), () =>
          barsPicture(
            `${data.title}: labels`,
            rows.map((l) => ({ name: labelName(l), value: data.labels[l].documents, text: count(data.labels[l].documents) })),
          ),
        ),
      ),
    ),
    labelTableOf(rows),
  ];
}

// Whether so many documents were in training that scores are too good; Trust says also if it is a few
const manyTrained = () => data.overview.trained > 0.01 * data.documents.total;

// ---- the four numbers

function headNumbers() {
  const found = data.overview;
  const n = data.documents?.total;
  const training = data.labels.reduce((sum, label) => sum + label.documents, 0);
  const item = (value, ...rest) => el("div", null, el("dt", null, rest), el("dd", null, value));
  const labels = `${plural(data.labels.length, "label")}${data.several ? ", several for a document" : ""}`;
  const items = [
    data.documents
      ? item(count(n), `document${n === 1 ? "" : "s"}, `, labels)
      : item(count(data.labels.length), `label${data.labels.length === 1 ? "" : "s"}, ${data.several ? "" : `${plural(training, "training document")}`}`),
  ];
  if (found) {
    const [score, low, high] = found.score;
    const { labelled } = data.quality;
    const were = found.are_training
      ? `${found.trained === data.documents.total ? "all" : count(found.trained)} of them were in training, predicted by models that did not see them`
      : `${count(found.trained)} of them have the words of a training document`;
    const trained = manyTrained() ? `; ${were}` : "";
    const chance = found.by_chance ? "; right no more often than by chance" : "";
    items.push(
      item(
        percent(score),
        data.several ? "micro F1" : "accuracy",
        ` (${whole(low)} to ${whole(high)}\u00a0%) on the ${plural(labelled, "labelled document")} of this page${trained}${chance}`,
      ),
    );
    items.push(acceptedNumber(found, item));
    const n_check = suspects().length;
    const labelsToCheck = found.check.filter(Boolean).length;
    items.push(
      item(
        n_check ? reviewLink(null, count(n_check)) : "0",
        `${data.several ? "label" : "document"}${n_check === 1 ? "" : "s"} to check`,
        n_check > 0 && (data.several ? ", missing or superfluous" : `, in ${plural(labelsToCheck, "label")}`),
      ),
    );
  }
  return el("dl", { class: "numbers" }, items);
}

function acceptedNumber({ accept, best, predictions, goal }, item) {
  const what = data.several ? "of the predicted labels" : "of the documents";
  if (best === null) return item("0\u00a0%", `can be accepted automatically at ${percent(goal)} right`);
  return item(
    link("trust", { accept: best }, percent(accept[0][2 * best] / predictions)),
    `${what} can be accepted automatically at ${percent(goal)} right${best > 0 ? ` (probability ≥ ${(best / 100).toFixed(2)})` : ", whatever their probability"}`,
  );
}

// ---- one row a label

// The parts of a label: own, shared, common; joined ones count as shared
function labelParts(l) {
  if (!scopes) return null;
  const of = (name) => blockNamed(name)?.labels[l] ?? 0;
  return [of("own"), of("shared") + of("joined"), of("common")];
}
const PART_NAMES = ["own", "shared", "common"];
const partsInWords = (parts) => parts.map((part, i) => `${percent(part)} ${PART_NAMES[i]}`).join(", ");

function partsBar(parts) {
  const total = parts.reduce((sum, part) => sum + part, 0) || 1;
  let x = 0;
  return el(
    "span",
    { class: "partsbar", title: partsInWords(parts) },
    svg(
      "svg",
      { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      parts.map((part, i) => {
        const width = (100 * part) / total;
        const drawn = svg("rect", { x: x.toFixed(2), y: 0, width: width.toFixed(2), height: 10, class: PART_NAMES[i] });
        x += width;
        return drawn;
      }),
    ),
    el("span", { class: "hidden" }, partsInWords(parts)),
  );
}

const legend = () =>
  scopes && el("span", { class: "legend" }, PART_NAMES.map((name) => [" ", el("span", { class: `key ${name}`, "aria-hidden": "true" }), " ", name]));

// The first words of a label, without those that may be chance
const firstWords = (l) => (data.labels[l].terms ?? []).filter(([, , , , , , chance]) => !chance).slice(0, SIX);

// These words, each with the share of the label's training documents that have it
function sixWords(l) {
  const { terms, documents: n } = data.labels[l];
  const first = firstWords(l);
  if (terms?.length && !first.length) return el("span", { class: "quiet" }, "all may be chance");
  return first.map(([w, here], i) => [
    i > 0 && ", ",
    el("span", { class: "nowrap" }, link("term", { w }, bdi(termName(w))), " ", el("span", { class: "tag" }, `${whole(here / n)}\u00a0%`)),
  ]);
}

const confusedWith = (l) => data.overview?.confused[l] ?? null;
// How many documents of a label were predicted as another, as a link to their list
function confusedLink(l) {
  const found = confusedWith(l);
  if (!found) return "";
  const [m, n] = found;
  return [labelLink(m), " (", countedLink({ truth: l, given: m, only: "confused" }, n), ")"];
}
const toCheck = (l) => data.overview?.check[l] ?? 0;
// The documents to check: in the view that decides on them, if the page has it
const reviewLink = (l, text) => (views.review ? link("review", { l }, text) : link("document", { only: "check", check: l }, text));
// The number is of all documents; if not all of them are on the page, the link beside it has the number of those that are.
function checkLink(l) {
  const [n, here] = [toCheck(l), suspects(l).length];
  return n === here ? n > 0 && reviewLink(l, count(n)) : [`${count(n)}, `, reviewLink(l, `${count(here)} here`)];
}
const scoreOf = (l, i) => data.quality?.by_label?.[l]?.[i] ?? null;

function labelTableOf(rows) {
  const score = (i) => (l) => (scoreOf(l, i) === null ? "–" : whole(scoreOf(l, i)));
  const known = Boolean(data.quality?.by_label);
  return table({
    caption: "Labels",
    sorting: "sort",
    roving: true,
    className: "labels",
    rows,
    columns: [
      {
        name: "Label",
        heading: true,
        value: labelName,
        cell: (l) => [
          labelLink(l),
          el(
            "div",
            { class: "narrow" },
            `${plural(data.labels[l].documents, "document")}: `,
            firstWords(l).map(([w, here], i) => [i > 0 && ", ", bdi(termName(w)), ` ${whole(here / data.labels[l].documents)}\u00a0%`]),
          ),
        ],
      },
      { name: "Documents", right: true, className: "wider3", value: (l) => data.labels[l].documents, cell: (l) => count(data.labels[l].documents), about: "Training documents that have the label" },
      { name: "Words, and share of its documents that have them", className: "words", cell: sixWords },
      ...(scopes ? [{ name: "Components", className: "parts3", value: (l) => labelParts(l)[0], right: false, cell: (l) => partsBar(labelParts(l)), about: "Expected share of its own, shared and common components in the label" }] : []),
      ...(known
        ? [
            { name: "Recall %", right: true, value: (l) => scoreOf(l, 1), cell: score(1), about: "Of the documents with this label, the share that was predicted as this label" },
            { name: "Precision %", right: true, className: "wider3", value: (l) => scoreOf(l, 2), cell: score(2), about: "Of the documents predicted as this label, the share that has it" },
          ]
        : []),
      ...(data.overview
        ? [
            { name: "Most confused with", className: "confused", value: (l) => confusedWith(l)?.[1] ?? 0, right: false, cell: confusedLink, about: "The label that was predicted most often for documents of this label" },
            { name: "To check", right: true, value: toCheck, cell: checkLink, about: "Documents whose given label looks like an error" },
          ]
        : []),
    ],
  });
}

// The table of labels to be saved
const labelRows = (rows) => [
  ["label", "training documents", ...range(SIX).flatMap((i) => [`word ${i + 1}`, "documents that have it"]),
    ...(scopes ? PART_NAMES : []), "documents on this page", "recall", "precision", "most confused with", "documents confused", "documents to check"],
  ...rows.map((l) => [
    labelName(l),
    data.labels[l].documents,
    ...range(SIX).flatMap((i) => {
      const [w, here] = firstWords(l)[i] ?? [];
      return w === undefined ? [null, null] : [termName(w), here];
    }),
    ...(scopes ? labelParts(l).map((part) => Number(part.toPrecision(5))) : []),
    ...range(3).map((i) => scoreOf(l, i)),
    confusedWith(l) ? labelName(confusedWith(l)[0]) : null,
    confusedWith(l)?.[1],
    data.overview ? toCheck(l) : null,
  ]),
];

// A number of all documents as a link to their list. If not all of them are on the page, the number is no link, and a
// link beside it has the number of those that are.
function countedLink(query, n) {
  if (data.documents.shown === data.documents.total) return link("document", query, count(n));
  const here = el("span", null, "…");
  documents().then((docs) => {
    const found = chosenDocuments(docs, query).length;
    here.replaceChildren(...(found === n ? [link("document", query, count(n))] : [`${count(n)}, `, link("document", query, `${count(found)} here`)]));
  }, () => here.replaceChildren(count(n)));
  return here;
}
