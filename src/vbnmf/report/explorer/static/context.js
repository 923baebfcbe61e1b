// Words in context: every occurrence of a word in the documents of the page, as lines, by component and label.

const LINES = 8; // lines of a group that are shown at first
const AROUND = 60; // characters on each side of the word

// Scripts without spaces between words: there a word may begin anywhere
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}]/u;
// Scripts that are read from right to left: what stands before a word is on its right
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
const LETTER = "[\\p{L}\\p{N}\\p{M}_]";

// A pattern of whole words, in upper and lower case. A mark, such as the last of "really !", may stand beside a letter.
function wholeWord(word) {
  const wanted = word.trim();
  const escaped = wanted.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/\s+/g, "\\s+");
  if (UNSPACED.test(wanted)) return new RegExp(escaped, "giu");
  const edge = (pattern, boundary) => (new RegExp(pattern, "u").test(wanted) ? boundary : "");
  return new RegExp(`${edge(`^${LETTER}`, `(?<!${LETTER})`)}${escaped}${edge(`${LETTER}$`, `(?!${LETTER})`)}`, "giu");
}

// The marked terms of a text: [{begin, end, i}], where i is the place of the term in docs.terms[d]
function marksOf(docs, d) {
  if (!docs.marks) return [];
  const found = [];
  let at = 0;
  markedPieces(docs, d, (piece, i) => [piece, i]).forEach((piece) => {
    const [text, i] = Array.isArray(piece) ? piece : [piece, null];
    if (i !== null) found.push({ begin: at, end: at + text.length, i });
    at += text.length;
  });
  return found;
}

// Where a word stands in a document: whole words as they are written, and all forms of a term. No two overlap.
function occurrencesIn(docs, d, word, w) {
  const text = plainText(docs, d);
  const marks = marksOf(docs, d);
  const found = [...text.matchAll(wholeWord(word))].map((match) => [match.index, match.index + match[0].length]);
  if (w !== null) for (const { begin, end, i } of marks) if (docs.terms[d][i] === w) found.push([begin, end]);
  found.sort(([a, x], [b, y]) => a - b || y - x);
  const kept = [];
  for (const [begin, end] of found) if (!kept.length || begin >= kept.at(-1).end) kept.push({ begin, end });
  for (const one of kept) {
    const mark = marks.find(({ begin, end }) => begin < one.end && end > one.begin);
    one.k = mark ? docs.owed[d][mark.i] : null;
  }
  return kept;
}

// All lines of a word: {d, k, label, left, word, right}
function contextLines(docs, word, w) {
  const lower = word.trim().toLowerCase();
  const lines = [];
  for (const d of range(docs.ids.length)) {
    if (!lowerText(docs, d).includes(lower) && !(w !== null && docs.terms[d].includes(w))) continue;
    const text = plainText(docs, d);
    const label = (docs.truth?.[d] ?? docs.given?.[d] ?? [])[0] ?? null;
    for (const { begin, end, k } of occurrencesIn(docs, d, word, w))
      lines.push({
        d,
        k,
        label,
        left: text.slice(Math.max(begin - AROUND, 0), begin).replace(/\s+/g, " ").replace(begin > AROUND && !UNSPACED.test(word) ? /^\S* / : "", ""),
        word: text.slice(begin, end),
        right: text.slice(end, end + AROUND).replace(/\s+/g, " ").replace(end + AROUND < text.length && !UNSPACED.test(word) ? / \S*$/ : "", ""),
      });
  }
  return lines;
}

// Groups of lines by a property, the largest first: [[value, lines], …]
function grouped(lines, by) {
  const groups = new Map();
  for (const line of lines) {
    if (!groups.has(line[by])) groups.set(line[by], []);
    groups.get(line[by]).push(line);
  }
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

function inContext(word, w) {
  if (!data.documents) return null;
  return withDocuments((docs) => {
    if (!docs.texts) return section("In context", "The documents of this page have no texts.");
    const all = contextLines(docs, word, w).filter(({ d }) => inColumns(docs, d));
    const documentsOf = (lines) => new Set(lines.map(({ d }) => d)).size;
    const label = integer("label", data.documents.names.length);
    const lines = label === null ? all : all.filter((line) => line.label === label);
    const senses = grouped(lines, "k");
    const only = param("sense");
    const open = senses.filter(([k]) => !only || String(k) === only);
    const labels = grouped(all, "label").filter(([l]) => l !== null);
    const cutTexts = cutInWords(docs);
    return section(
      "In context",
      all.length
        ? [
            el("span", { id: "lines" }, `${plural(lines.length, "line")} in ${plural(documentsOf(lines), "document")}`),
            label === null ? " of this page" : ` of ${labelName(label)} on this page`,
            `, grouped by the component that the word is assigned to there.${cutTexts}`,
          ]
        : `No document of this page has it.${cutTexts}`,
      all.length > 0 &&
        downloads(
          "context",
          () => [
            ["id", "label", "component", "left", "word", "right"],
            ...lines.map((line) => [docs.ids[line.d], line.label === null ? null : labelName(line.label), line.k === null ? null : componentName(line.k), line.left, line.word, line.right]),
          ],
          () =>
            barsPicture(
              `${word}: lines by component`,
              senses.map(([k, group]) => ({ name: k === null ? "no component" : componentName(k), value: group.length, text: count(group.length) })),
            ),
        ),
      (all.length > 0 || filteredBy().length > 0) &&
        controls(
          choice("sense", "Component", [["", `all (${count(lines.length)})`], ...senses.map(([k, group]) => [k, `${k === null ? "no component" : componentName(k)} (${count(group.length)})`])]),
          labels.length > 0 && choice("label", "Label", [["", `all (${count(all.length)})`], ...labels.map(([l, group]) => [l, `${labelName(l)} (${count(group.length)})`])]),
          columnChoices(),
        ),
      open.map(([k, group]) => senseOf(docs, k, group, word, w, Boolean(only))),
    );
  });
}

// The lines of one component, those of a label together
function senseOf(docs, k, group, word, w, whole) {
  const ordered = grouped(group, "label").flatMap(([, lines]) => lines);
  const shown = whole ? ordered : ordered.slice(0, LINES);
  const here = w === null ? { word } : { w };
  return [
    el("h4", { class: "sense" }, k === null ? "no component" : componentLink(k), " ", el("span", { class: "tag" }, plural(group.length, "line"))),
    el(
      "ul",
      { class: "lines" },
      shown.map((line) =>
        el(
          "li",
          { dir: RIGHT_TO_LEFT.test(line.word) ? "rtl" : "ltr" },
          el("span", { class: "left" }, el("bdi", null, line.left)),
          el("a", { class: "hit", href: address("document", { d: line.d, query: word }), title: docs.ids[line.d] }, el("mark", null, line.word)),
          el("span", { class: "right-side" }, el("bdi", null, line.right)),
          el("span", { class: "from" }, line.label === null ? bdi(docs.ids[line.d]) : bdi(labelName(line.label))),
        ),
      ),
    ),
    ordered.length > shown.length && el("p", null, link("term", { ...here, sense: String(k), label: param("label"), ...Object.fromEntries(COLUMN_FILTERS.map((name) => [name, param(name)])) }, `All ${plural(ordered.length, "line")}`)),
  ];
}
