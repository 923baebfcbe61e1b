// New: documents that resemble no label of the model, grouped by what they have in common, and words the model lacks.

if (data.novel) views.new = { title: "New", draw: drawNew };

function drawNew() {
  const { above, number: n, documents: found, groups, unknown } = data.novel;
  const filtered = filteredBy().length > 0;
  const total = data.documents.total;
  const part = new Map(found);
  return [
    heading("What is new"),
    el(
      "p",
      { class: "lead" },
      `${plural(n, "document")} of ${count(total)} (${percent(n / total)}) look new: they resemble every label less than ${whole(above)}\u00a0% of the training documents resembled theirs when they were left out. Of documents like those in training, about ${whole(1 - above)}\u00a0% would look new.${found.length < n ? ` The ${count(found.length)} first are listed.` : ""}`,
    ),
    columnsOf.length > 0 && controls(columnChoices()),
    groups.length > 0 &&
      withDocuments((docs) =>
        section(
          "What they have in common",
          "Groups by words, known to the model or not. Each document is in one group.",
          downloads("new-groups", () => [["words", "id"], ...groups.flatMap(([words, rows]) => rows.map((d) => [words.join(" "), docs.ids[d]]))]),
          groups.map(([words, every]) => [words, every.filter((d) => inColumns(docs, d))]).filter(([, rows]) => rows.length).map(([words, rows], i) =>
            el(
              "details",
              { open: i < 2 },
              el("summary", null, el("strong", null, bdi(words.join(" "))), ` ${plural(rows.length, "document")}`),
              el("ul", { class: "cards" }, rows.slice(0, 12).map((d) => documentCard(docs, d, novelty(part.get(d))))),
              rows.length > 12 && el("p", { class: "quiet" }, `The CSV has ${count(rows.length - 12)} more.`),
            ),
          ),
        ),
      ),
    el(
      "div",
      { class: "two wider" },
      found.length > 0 &&
        withDocuments((docs) => {
          const listed = found.filter(([d]) => inColumns(docs, d));
          return section(
            "One by one",
            [
              "Those first that are like other documents that look new; a document that is only odd comes later.",
              filtered && ` ${count(listed.length)} of the ${count(found.length)} that are listed have these values.`,
            ],
            downloads("new-documents", () => {
              const [head, ...rows] = documentRows(docs, listed.map(([d]) => d));
              return [["novelty", ...head], ...rows.map((row, i) => [listed[i][1], ...row])];
            }),
            el("ul", { class: "cards" }, listed.slice(0, 20).map(([d, value]) => documentCard(docs, d, novelty(value)))),
          );
        }),
      unknown?.length > 0 &&
        section(
          "Words that the model does not know",
          "In documents that look new, with the number of them that have each.",
          downloads("unknown-words", () => [["word", "documents"], ...unknown]),
          el("ul", { class: "chips" }, unknown.map(([word, times]) => el("li", null, link("term", { word }, bdi(word), el("span", { class: "tag" }, ` ${count(times)}`))))),
        ),
    ),
  ];
}

const novelty = (value) => (value === undefined ? null : `novelty ${value.toFixed(3)}`);
