// Structure: pairs of labels that could be one label, and labels that could be two, ranked, each with its documents.

if (data.structure) views.structure = { title: "Structure", draw: drawStructure };

// Links between Compare and Structure, which share a tab
const compareOrStructure = (here) =>
  views.structure &&
  under("Compare", here, [
    ["compare", "Two labels"],
    ["structure", "Which could be one, or two"],
  ]);

function drawStructure() {
  const { merges, splits, separation } = data.structure;
  return [heading("Which labels could be one, which could be two"), compareOrStructure("structure"), mergeSection(merges), splitSection(splits, separation)];
}

function mergeSection(merges) {
  return section(
    "Could be one label",
    "Pairs of labels whose documents are confused and that have the same words and components. The first look most like one label.",
    downloads("merge", () => [
      ["label", "other", "documents", "documents of the other", "given the first, predicted the other", "and back", "similar words", "components in common"],
      ...merges.map(([a, b, n, m, there, back, words, components]) => [labelName(a), labelName(b), n, m, there, back, words, components]),
    ]),
    merges.length > 0
      ? table({
          caption: "Pairs that could be one label",
          rows: merges,
          roving: true,
          className: "dense ofpairs",
          columns: [
            { name: "Labels", heading: true, cell: ([a, b]) => [labelLink(a), " and ", labelLink(b)] },
            { name: "Given first, predicted second", right: true, cell: ([a, b, , , there]) => (there ? countedLink({ truth: a, given: b, only: "confused" }, there) : (there ?? "–")) },
            { name: "And back", right: true, cell: ([a, b, , , , back]) => (back ? countedLink({ truth: b, given: a, only: "confused" }, back) : (back ?? "–")) },
            { name: "Similar words", right: true, cell: ([, , , , , , words]) => percent(words) },
            { name: "Components in common", right: true, cell: ([, , , , , , , components]) => percent(components) },
            { name: "", cell: ([a, b]) => link("compare", { a, b }, "compare") },
          ],
        })
      : el("p", { class: "quiet" }, "No two labels have anything in common."),
  );
}

// What the ranking is worth: pairs of labels were put together for a test
const worth = (separation) =>
  separation === null
    ? "There are too few labels to test this ranking."
    : `A test on these documents: two labels that were put together look more like two than a single label does in ${percent(separation)} of the cases (50\u00a0% is chance).`;

function splitSection(splits, separation) {
  const flagged = splits.filter(({ flagged: on }) => on);
  return section(
    "Could be two labels",
    splits.length
      ? `The documents of each label, divided into two parts. Ratio: how similar the parts are, relative to the other label that is nearest to them; the most separate come first. ${worth(separation)} ${flagged.length ? `${plural(flagged.length, "label")} could be two, by the limit below which half of such pairs are` : separation >= 0.8 ? "None is so far apart that it should be two" : "That is too little to say of any label that it is two: read the documents"}.`
      : separation === null
        ? "No label has enough documents to be divided."
        : `${worth(separation)} That is too near chance to list any.`,
    splits.length > 0 &&
      downloads("split", () => [
        ["label", "ratio", "could be two", "documents of the first part", "its words", "documents of the second part", "its words"],
        ...splits.map(({ label, ratio, flagged: on, sizes, terms }) => [labelName(label), ratio, on, sizes[0], wordList(terms[0]), sizes[1], wordList(terms[1])]),
      ]),
    withDocuments((docs) => splits.map((one) => splitCard(docs, one))),
  );
}

const triples = (flat) => range(flat.length / 3).map((i) => flat.slice(3 * i, 3 * i + 3));
const wordList = (flat) => triples(flat).map(([w]) => termName(w)).join(" ");

function splitCard(docs, { label, ratio, flagged, nearest, sizes, terms, typical }) {
  const side = (i) =>
    el(
      "div",
      null,
      el("p", null, el("strong", null, plural(sizes[i], "document")), ": ", triples(terms[i]).map(([w, here, there], j) => [j > 0 && ", ", termLink(w), el("span", { class: "tag" }, ` ${count(here)}`), el("span", { class: "hidden" }, ` of them, ${count(there)} of the others`)])),
      el("p", { class: "quiet" }, "nearest other label: ", labelLink(nearest[i])),
      el("ul", { class: "cards" }, typical[i].map((d) => documentCard(docs, d))),
    );
  return el(
    "details",
    { open: flagged },
    el("summary", null, bdi(labelName(label)), ` (ratio ${number(ratio, 2)})`, flagged ? el("span", { class: "badge" }, "could be two") : ""),
    el("div", { class: "two" }, side(0), side(1)),
  );
}
