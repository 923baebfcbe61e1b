// Lists of documents: search and filters, the order by confidence, how many there are in all, and the mistakes about a label.

const LISTED = 40; // documents on a page of the list

function drawList() {
  const { total, shown, labelled, longest } = data.documents;
  const place = el("div");
  const fill = (docs) => place.replaceChildren(...documentList(docs).filter(Boolean));
  const names = data.documents.names.map((name, i) => [i, name]);
  const search = el("input", {
    type: "search",
    id: "query",
    value: param("query"),
    placeholder: "words in text or id",
    oninput: () => {
      adjust({ query: search.value, page: null });
      documents().then(fill, () => {});
    },
  });
  documents().then(fill, () => {});
  return [
    heading("Documents"),
    documentsOrColumns("document"),
    el(
      "p",
      { class: "lead" },
      shown < total ? `${count(shown)} of ${plural(total, "document")} are on this page: ${whichDocuments()}` : `${plural(total, "document")}.`,
      ` Texts are cut after ${count(longest)} characters.`,
      data.labels.length > 0 && ` ${orderInWords()}`,
    ),
    controls(
      el("label", { class: "choice", for: "query" }, el("span", null, "Search"), search),
      labelled &&
        data.labels.length > 0 &&
        choice("only", "Show", [
          ["", "all"],
          ["wrong", "given A, predicted B"],
          ["right", "predicted as given"],
          ["missed", "a given label not predicted"],
          ["wrongly", "a predicted label not given"],
          ["check", "to check: the given label looks like an error"],
          ...(param("only") === "confused" ? [["confused", "one label for the other"]] : []),
        ]),
      labelled && choice("truth", "Given label", [["", "any"], ...names]),
      data.labels.length > 0 && choice("given", "Predicted", [["", "any"], ...names.slice(0, data.labels.length)]),
      data.labels.length > 0 &&
        choice("order", "Order", [
          ["", labelled ? "given A, predicted B first" : "most confident first"],
          ["unsure", "least confident first"],
          ["file", "as in the file"],
        ]),
      columnChoices(),
    ),
    withDocuments(() => place),
  ];
}

// Which documents are on the page, if not all are
const whichDocuments = () =>
  data.documents.labelled && data.labels.length > 0
    ? "first those to check and those predicted otherwise than given, rare confusions before frequent ones. The scores in Trust cover all documents."
    : `${data.labels.length > 0 ? "some of each predicted label, " : ""}spread evenly over the file. The measures in About cover all documents.`;

// The label that the list is about: the predicted one that was chosen, or the true one; null if none was
const aboutLabel = () => integer("given", data.labels.length) ?? integer("truth", data.documents.names.length);

function orderInWords() {
  const [order, about] = [param("order"), aboutLabel()];
  if (order === "file") return "They are in the order of the file.";
  const confidence =
    about !== null
      ? `Confidence is the probability of the label ${labelName(about)} where it was predicted, and one minus it elsewhere.`
      : data.several
        ? "Confidence is that of the most confident disagreement: the probability of a label that was not given, or one minus that of a given label that was not predicted. Without any it is the probability of the least probable label that was predicted."
        : "Confidence is the probability of the predicted label.";
  if (order === "unsure") return `The least confident come first. ${confidence}`;
  const wrong = about === null ? "Documents predicted otherwise than given" : "Documents for which this label was given and not predicted, or predicted and not given,";
  return `${data.documents.labelled ? `${wrong} come first, the most confident of them at the top.` : "The most confident come first."} ${confidence}`;
}

// The probability of a true or predicted label of a document; null if the model does not have the label
function probabilityOf(docs, d, l) {
  const at = docs.given[d].indexOf(l);
  return at >= 0 ? docs.p[d][at] : (docs.p_truth?.[d]?.[docs.truth[d].indexOf(l)] ?? null);
}

const isMissed = (docs, d, l) => Boolean(docs.truth?.[d]?.includes(l)) && !docs.given[d].includes(l);
const isWrongly = (docs, d, l) => docs.given[d].includes(l) && Boolean(docs.truth?.[d]) && !docs.truth[d].includes(l);
const isError = (docs, d, l) => isMissed(docs, d, l) || isWrongly(docs, d, l);

// Confidence of the decision about a label: its probability if it was predicted, or that of its absence
const decided = (docs, d, l) => (docs.given[d].includes(l) ? probabilityOf(docs, d, l) : 1 - (probabilityOf(docs, d, l) ?? 0));

// The label by which a document is sorted: that of the list, its most confident error, or its least probable label
function sortedByLabel(docs, d, about) {
  if (about !== null) return about;
  if (!data.several) return docs.given[d][0];
  const errors = [...docs.given[d], ...(docs.truth?.[d] ?? [])].filter((l) => isError(docs, d, l));
  const sure = (l) => decided(docs, d, l);
  return errors.length
    ? errors.reduce((best, l) => (sure(l) > sure(best) ? l : best))
    : docs.given[d].reduce((least, l) => (sure(l) < sure(least) ? l : least), docs.given[d][0]);
}

function confidence(docs, d, about) {
  const l = sortedByLabel(docs, d, about);
  if (l !== undefined) return decided(docs, d, l);
  return docs.why[d].length ? 1 - docs.why[d][0][1] : 0; // no label was predicted
}

// The label by which a document with several labels is sorted, with its probability, for its card
function sortedByInWords(docs, d, about) {
  const l = data.several ? sortedByLabel(docs, d, about) : undefined;
  if (l === undefined) return null;
  const p = probabilityOf(docs, d, l);
  const error = isMissed(docs, d, l) ? ", given, not predicted" : isWrongly(docs, d, l) ? ", predicted, not given" : "";
  return [bdi(labelName(l)), `${p === null ? "" : ` ${percent(p)}`}${error}`];
}

// Sort documents: errors about the label first, or all wrong ones, the most confident at the top
function sortedByConfidence(docs, found, about, unsure = false) {
  const sure = new Map(found.map((d) => [d, confidence(docs, d, about)]));
  const error = (d) => (about === null ? docs.wrong[d] : 2 * isError(docs, d, about) + docs.wrong[d]);
  return found.sort((a, b) =>
    unsure ? sure.get(a) - sure.get(b) : error(b) - error(a) || sure.get(b) - sure.get(a),
  );
}

// The number of all documents, also of those that are not on the page, which the filters select; null if not counted
function numberInAll() {
  const { counts, names } = data.documents;
  if (param("query").trim()) return null;
  const [truth, given, only] = [integer("truth", names.length), integer("given", data.labels.length), param("only")];
  const kinds = ["right", "wrong", "unknown", "missed", "wrongly"];
  if (only === "confused" || only === "check") return null;
  const columns = filteredBy();
  if (columns.length) {
    const [[c, g]] = columns;
    if (only || columns.length > 1 || (truth !== null && given !== null)) return null;
    if (truth !== null) return columnsOf[c].given.counts[truth][g];
    return given === null ? columnsOf[c].groups[g][2] : columnsOf[c].predicted.counts[given][g];
  }
  const pick = (row) => (only ? row[kinds.indexOf(only)] : row[0] + row[1] + row[2]);
  if (truth === null && given === null) return pick(counts.all);
  if (truth !== null && given !== null) {
    const at = range(counts.pairs.length / 4).find((i) => counts.pairs[4 * i] === truth && counts.pairs[4 * i + 1] === given);
    const [right, wrong] = at === undefined ? [0, 0] : counts.pairs.slice(4 * at + 2, 4 * at + 4);
    const errors = truth === given ? 0 : data.several ? null : wrong;
    return pick([right, wrong, 0, errors, errors]);
  }
  if (data.several && only === (truth === null ? "missed" : "wrongly")) return null;
  const row = truth === null ? counts.given[given] : counts.truth[truth];
  return pick(data.several ? row : [...row.slice(0, 3), row[1], row[1]]);
}

function foundInWords(n) {
  const { total, shown } = data.documents;
  if (shown === total) return `${plural(n, "document")} found`;
  const all = numberInAll();
  if (all === null) return `${plural(n, "document")} found among the ${count(shown)} of ${count(total)} that are on this page`;
  return n === all ? `${plural(n, "document")} found, all on this page` : `Showing ${count(n)} of ${plural(all, "document")}; the others are not on this page`;
}

// The documents that a list shows. query: its parameters; those of the address if it is left out
function chosenDocuments(docs, query = null) {
  const get = (name) => String((query ? query[name] : param(name)) ?? "");
  const index = (name, limit) => {
    const value = Number.parseInt(get(name), 10);
    return Number.isInteger(value) && value >= 0 && value < limit ? value : null;
  };
  const words = searchedWords(get("query"));
  const [truth, given] = [index("truth", data.documents.names.length), index("given", data.labels.length)];
  const only = get("only");
  const checked = only === "check" ? new Set(suspects(index("check", data.documents.names.length)).map(({ d }) => d)) : null;
  const found = range(docs.ids.length).filter((d) => {
    if (only === "wrong" && !docs.wrong[d]) return false;
    if (only === "right" && (docs.wrong[d] || !docs.truth?.[d])) return false;
    if (only === "check" && !checked.has(d)) return false;
    if (only === "confused" && !(isMissed(docs, d, truth) && isWrongly(docs, d, given))) return false;
    if (only === "missed" && !(truth === null ? (docs.truth?.[d] ?? []) : [truth]).some((l) => isMissed(docs, d, l))) return false;
    if (only === "wrongly" && !(given === null ? docs.given[d] : [given]).some((l) => isWrongly(docs, d, l))) return false;
    if (truth !== null && !docs.truth?.[d]?.includes(truth)) return false;
    if (given !== null && !docs.given?.[d]?.includes(given)) return false;
    if (!inColumns(docs, d, get)) return false;
    return words.every((word) => lowerText(docs, d).includes(word));
  });
  const order = get("order");
  if (!docs.p || order === "file") return found;
  return sortedByConfidence(docs, found, given ?? truth, order === "unsure");
}

// Documents to check, the most suspicious first: {d, given, suggested, pGiven, pSuggested}; of one label, if l is not
// null; all whose prediction differs, if all. A label that is missing, or that no label should replace, is -1.
const suspects = (l = null, all = false) =>
  (data.documents ? (all ? data.documents.suspects : data.documents.to_check.map((i) => data.documents.suspects[i])) : [])
    .map(([d, given, suggested, pGiven, pSuggested]) => ({ d, given, suggested, pGiven, pSuggested }))
    .filter(({ given, suggested }) => l === null || (given >= 0 ? given : suggested) === l);

// The parameters of the list, which links to its documents keep
const listQuery = () => Object.fromEntries(["query", "only", "truth", "given", "check", "order", ...COLUMN_FILTERS].map((name) => [name, param(name)]));

function documentList(docs) {
  const found = chosenDocuments(docs);
  const shown = pages("page", found.length, LISTED, "documents");
  say(`${foundInWords(found.length)}.`);
  return [
    el(
      "div",
      { class: "bar" },
      el("p", { class: "quiet", id: "how-many" }, foundInWords(found.length)),
      shown.control,
      downloads(
        "documents",
        () => documentRows(docs, found),
        () => barsPicture("Documents found, by their strongest component", strongestComponents(docs, found)),
      ),
    ),
    found.length > 0 &&
      el(
        "ul",
        { class: "cards" },
        found.slice(shown.begin, shown.end).map((d) => documentCard(docs, d, docs.given && sortedByInWords(docs, d, aboutLabel()), listQuery())),
      ),
  ];
}

// Documents as a table to be saved
const documentRows = (docs, found) => [
  ["id", "label", "probability of label", "predicted", "probability", "differs", "components", ...columnsOf.map(({ name }) => name), "text"],
  ...found.map((d) => [
    docs.ids[d],
    labelTexts(docs.truth?.[d]),
    docs.p_truth?.[d]?.join("; "),
    labelTexts(docs.given?.[d]),
    docs.p?.[d].join("; "),
    docs.wrong[d],
    pairs(docs.coefficients[d])
      .map(([k, part]) => `${k}:${part / 1000}`)
      .join(" "),
    ...columnsOf.map((_, c) => docs.columns[c].cells[d]),
    plainText(docs, d),
  ]),
];

function strongestComponents(docs, found) {
  const counts = new Map();
  for (const d of found) counts.set(docs.coefficients[d][0], (counts.get(docs.coefficients[d][0]) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 30)
    .map(([k, n]) => ({ name: componentName(k), value: n, text: count(n) }));
}

const labelTexts = (labels) => (labels ?? []).map(labelName).join("; ");
const MARK = "\x7f"; // before and after each term of a text
const plainText = (docs, d) => docs.texts?.[d].replaceAll(MARK, "");
const documentText = (docs, d) => plainText(docs, d) ?? docs.terms[d].map(termName).join(" ");

// Labels, each with its own probability, if the model has the label
const labelsWithP = (labels, p, named = (l) => bdi(labelName(l))) =>
  labels.map((l, i) => [i > 0 && ", ", named(l), (p?.[i] ?? null) !== null && ` (${percent(p[i])})`]);

// A document in a list. extra: what is said beside its id; query: the list in which it stands, which a link to it keeps
function documentCard(docs, d, extra = null, query = {}) {
  const typed = query.query ?? "";
  const whole = documentText(docs, d).replace(/\s+/g, " ").trim();
  const begin = whole.length > 180 ? `${whole.slice(0, 180).replace(/\S{1,20}$/, "").trim()} …` : whole;
  return el(
    "li",
    { class: docs.wrong[d] ? "card differs" : "card" },
    el(
      "div",
      { class: "cardhead" },
      link("document", { ...query, d }, bdi(docs.ids[d])),
      extra && el("span", { class: "quiet" }, extra),
      verdict(docs, d),
    ),
    el("p", { class: "snippet", dir: "auto" }, (typed ? markedWords(matchSnippet(docs, d, typed), typed) : begin) || "(no text)"),
    columnsOf.length > 0 && el("p", { class: "cells" }, cellsOf(docs, d).map(([name, cell]) => el("span", null, `${name} `, el("b", null, bdi(cell))))),
  );
}

function verdict(docs, d) {
  if (!docs.given) return docs.truth?.[d] && el("span", { class: "verdict" }, bdi(labelTexts(docs.truth[d])));
  return el(
    "span",
    { class: "verdict" },
    docs.wrong[d] ? [el("span", { class: "badge" }, "given"), " ", labelsWithP(docs.truth[d], docs.p_truth[d]), ", "] : "",
    docs.given[d].length ? ["predicted ", labelsWithP(docs.given[d], docs.p[d])] : "no label predicted",
  );
}

// ---- the mistakes about a label, for its view

function confusedDocuments(l) {
  const { counts, shown, total } = data.documents;
  const list = (title, name, docs, found, all, query) => {
    const few = found.length < all;
    return section(
      `${title} (${few ? `${count(found.length)} of ${count(all)} are on this page` : count(all)})`,
      null,
      found.length > 0 && downloads(`label-${l}-${name}`, () => documentRows(docs, found)),
      found.length
        ? el(
            "ul",
            { class: "cards" },
            found.slice(0, 4).map((d) => documentCard(docs, d, sortedByInWords(docs, d, l), query)),
          )
        : el("p", { class: "quiet" }, few ? "None of them is on this page." : "None."),
      found.length > 4 && el("p", null, link("document", query, `Show all ${count(found.length)}${shown < total ? " on this page" : ""}`)),
    );
  };
  const of = (docs, test) => sortedByConfidence(docs, range(docs.ids.length).filter((d) => test(docs, d, l)), l);
  const [missed, wrongly] = data.several
    ? ["Documents of this label for which it was not predicted", "Documents of other labels for which this one was predicted"]
    : ["Documents of this label, predicted as another", "Documents of other labels, predicted as this one"];
  return withDocuments((docs) => [
    list(missed, "missed", docs, of(docs, isMissed), counts.truth[l][3], { truth: l, only: "missed" }),
    list(wrongly, "wrongly-predicted", docs, of(docs, isWrongly), counts.given[l][4], { given: l, only: "wrongly" }),
  ]);
}
