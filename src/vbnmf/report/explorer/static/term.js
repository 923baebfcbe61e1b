// Term: search as you type, and where a term occurs over components and labels.

const FOUND = 24; // terms that a search lists

views.term = {
  title: "Words",
  draw() {
    const w = integer("w", data.terms.names.length);
    const word = w === null ? param("word").trim() : termName(w);
    const results = el("div", { id: "found" });
    const fill = () => {
      const found = foundTerms(param("find"));
      const none = el("p", { class: "quiet" }, "No term contains this.");
      if (word && !param("find").trim()) return results.replaceChildren() ?? 0;
      results.replaceChildren(found.length ? (word ? termChips(found) : termList(found)) : none);
      return found.length;
    };
    const search = el("input", {
      type: "search",
      id: "find",
      value: param("find"),
      autocomplete: "off",
      "aria-controls": "found",
      placeholder: "a word, or part of it; Enter shows it in context",
      oninput: () => {
        adjust({ find: search.value });
        const n = fill();
        say(n === FOUND ? `${n} or more terms found.` : `${plural(n, "term")} found.`);
      },
      onkeydown: (event) => {
        if (event.key !== "Enter" || !search.value.trim()) return;
        const [first] = foundTerms(search.value);
        const same = termNames[first] === search.value.trim().toLowerCase();
        // what was typed, also if no term is called so: it may stand in texts
        if (same || (first !== undefined && !data.documents)) visit(address("term", { w: first, find: search.value }));
        else visit(address("term", { word: search.value.trim(), find: search.value }));
      },
    });
    fill();
    const { total, names } = data.terms;
    return [
      heading(word ? ["Word ", bdi(word)] : "Words"),
      !word && el(
        "p",
        { class: "lead" },
        names.length < total
          ? `${count(names.length)} of ${plural(total, "term")} can be looked up: those of most weight, and those in lists.`
          : `${plural(total, "term")}.`,
        " Type to search; without a search, those of most weight are listed.",
      ),
      controls(el("label", { class: "choice grow", for: "find" }, el("span", null, "Search"), search)),
      results,
      w !== null && scopes && facts(`expected weight: ${inBlocks(termInBlocks(w))}`),
      word && inContext(word, w),
      w !== null &&
        el("div", { class: "two" }, occurrences(w, "components"), data.labels.length > 0 && occurrences(w, "labels")),
    ];
  },
};

const foundLink = (w) => link("term", { w, find: param("find") }, bdi(termName(w)));
const termChips = (found) =>
  el(
    "ul",
    { class: "chips" },
    found.map((w) => el("li", null, foundLink(w))),
  );

// Parts of terms in all documents, which are small
const fine = (part) => `${part > 0 && part < 1e-4 ? "<0.01" : part >= 0.99995 && part < 1 ? ">99.99" : (100 * part).toFixed(2)}\u00a0%`;

// Parts of a term, which the payload rounds to whole per cent, but not to all
const ofTerm = (hundredths) => (Number.isInteger(hundredths) ? `${hundredths}\u00a0%` : percent(hundredths / 100));

// Terms with where each occurs most
function termList(found) {
  const kinds = data.labels.length ? ["components", "labels"] : ["components"];
  const first = (kind, w) => pairs(data.terms[kind][w])[0];
  const most = largest(found.map((w) => data.terms.p[w]));
  const text = { components: componentName, labels: labelName };
  const linked = { components: componentLink, labels: labelLink };
  return section(
    param("find") ? "Terms found" : "Terms of most weight",
    "Share: the term's share of all documents' weight, as the model expects it. In brackets: " +
      (kinds.length === 1
        ? "the expected share of the term's weight that is in that component."
        : "the expected share of the term's weight that is in that component, and the counted share of the training documents that have the term which have that label."),
    downloads(
      "terms",
      () => [
        ["term", "share", ...kinds.flatMap((kind) => [`most in ${kind}`, "of it"])],
        ...found.map((w) => [
          termName(w),
          data.terms.p[w],
          ...kinds.flatMap((kind) => {
            const [i, part] = first(kind, w) ?? [];
            return part ? [text[kind](i), part / 100] : [null, null];
          }),
        ]),
      ],
      () =>
        barsPicture(
          "Terms",
          found.map((w) => ({ name: termName(w), value: data.terms.p[w], text: fine(data.terms.p[w]) })),
        ),
    ),
    table({
      caption: "Terms",
      className: "dense",
      rows: found,
      columns: [
        { name: "Term", heading: true, cell: foundLink },
        { name: "Share", right: true, cell: (w) => fine(data.terms.p[w]) },
        { name: "", wide: true, cell: (w) => bar(data.terms.p[w], most) },
        ...kinds.map((kind) => ({
          name: `Most in ${kind.slice(0, -1)}`,
          className: "names",
          cell: (w) => {
            const [i, part] = first(kind, w) ?? [];
            return part ? [linked[kind](i), ` (${ofTerm(part)})`] : "spread over many";
          },
        })),
      ],
    }),
  );
}

// Terms that match the input, the same first, then those that begin so, then those that contain it, the commonest first;
// without input, the commonest.
function foundTerms(typed) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return byFrequency.slice(0, FOUND);
  return bestMatches(termNames, wanted, FOUND, byFrequency).map(([, w]) => w);
}

const termNames = data.terms.names.map((name) => name.toLowerCase());
const byFrequency = range(data.terms.names.length).sort((a, b) => data.terms.p[b] - data.terms.p[a]);

function occurrences(w, kind) {
  const found = pairs(data.terms[kind][w]).map(([i, part]) => ({ i, part: part / 100, text: ofTerm(part) }));
  const rest = 1 - found.reduce((sum, { part }) => sum + part, 0);
  const of =
    kind === "components"
      ? { name: "Component", link: componentLink, text: componentName }
      : { name: "Label", link: labelLink, text: labelName };
  return section(
    `In ${kind}`,
    found.length ? aboutOccurrences(kind) : noOccurrences(kind),
    downloads(
      `term-${w}-${kind}`,
      () => [[of.name.toLowerCase(), "share"], ...found.map(({ i, part }) => [of.text(i), part])],
      () =>
        barsPicture(
          `${termName(w)}: ${kind}`,
          found.map(({ i, part, text }) => ({ name: of.text(i), value: part, text })),
        ),
    ),
    found.length > 0 &&
      table({
        caption: `${termName(w)} in ${kind}`,
        rows: found,
        className: "bars",
        columns: [
          { name: of.name, heading: true, cell: ({ i }) => of.link(i) },
          { name: kind === "labels" ? "Share of documents" : "Expected share", right: true, cell: ({ text }) => text },
          { name: "", wide: true, cell: ({ part }) => bar(part, 1) },
        ],
      }),
    found.length > 0 &&
      rest >= 0.005 &&
      !(kind === "labels" && data.several) && // a document may have several of the labels
      el("p", { class: "quiet" }, `About ${whole(rest)}\u00a0% in other ${kind}${kind === "labels" ? " or without a label" : ""}. At most six are listed, each with 3 % or more.`),
  );
}

const noOccurrences = (kind) =>
  kind === "labels"
    ? "Less than 3 % of the training documents that have the term have any one label."
    : `It is spread over many ${kind}. The model expects less than 3 % of its weight in each.`;

function aboutOccurrences(kind) {
  if (kind === "components") return "How much of the term's weight the model expects from each component.";
  return "Of the training documents that have the term, the share that has each label.";
}
