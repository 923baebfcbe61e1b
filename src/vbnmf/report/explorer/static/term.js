// Term: search as you type, and where a term occurs over components and labels.

const FOUND = 24; // terms that a search lists

views.term = {
  title: "Terms",
  draw() {
    const w = integer("w", data.terms.names.length);
    const results = el("ul", { class: "chips", id: "found" });
    const fill = () =>
      results.replaceChildren(
        ...foundTerms(param("find")).map((i) =>
          el("li", null, link("term", { w: i, find: param("find") }, bdi(termName(i)))),
        ),
      );
    const search = el("input", {
      type: "search",
      id: "find",
      value: param("find"),
      autocomplete: "off",
      "aria-controls": "found",
      placeholder: "a term, or part of it",
      oninput: () => {
        adjust({ find: search.value });
        fill();
        const n = results.children.length;
        say(n === FOUND ? `${n} or more terms found.` : `${plural(n, "term")} found.`);
      },
      onkeydown: (event) => {
        const [first] = foundTerms(search.value);
        if (event.key === "Enter" && first !== undefined) visit(address("term", { w: first, find: search.value }));
      },
    });
    fill();
    const { total, names } = data.terms;
    return [
      heading(w === null ? "Terms" : ["Term ", bdi(termName(w))]),
      el(
        "p",
        { class: "lead" },
        names.length < total
          ? `The ${count(names.length)} commonest of ${plural(total, "term")} can be looked up.`
          : `${plural(total, "term")}.`,
      ),
      controls(el("label", { class: "choice grow", for: "find" }, el("span", null, "Search"), search)),
      results,
      w !== null &&
        el("div", { class: "two" }, occurrences(w, "components"), data.labels.length > 0 && occurrences(w, "labels")),
    ];
  },
};

// Terms that begin with what is typed, then those that have it inside, commonest first; without any, the commonest.
function foundTerms(typed) {
  const wanted = typed.trim().toLowerCase();
  const places = termNames.map((name) => name.indexOf(wanted));
  return byFrequency
    .filter((w) => places[w] === 0)
    .concat(byFrequency.filter((w) => places[w] > 0))
    .slice(0, FOUND);
}

const termNames = data.terms.names.map((name) => name.toLowerCase());
const byFrequency = range(data.terms.names.length).sort((a, b) => data.terms.p[b] - data.terms.p[a]);

function occurrences(w, kind) {
  const found = pairs(data.terms[kind][w]).map(([i, part]) => ({ i, part: part / 100 }));
  const rest = 1 - found.reduce((sum, { part }) => sum + part, 0);
  const of =
    kind === "components"
      ? { name: "Component", link: componentLink, text: componentName }
      : { name: "Label", link: labelLink, text: labelName };
  return section(
    `In ${kind}`,
    found.length
      ? `Of all its weight, the part in each${kind === "labels" ? ", by how common labels are" : ""}.`
      : `Spread over many ${kind}: in none as much as 3 % of it.`,
    downloads(
      `term-${w}-${kind}`,
      () => [[of.name.toLowerCase(), "part"], ...found.map(({ i, part }) => [of.text(i), part])],
      () =>
        barsPicture(
          `${termName(w)}: ${kind}`,
          found.map(({ i, part }) => ({ name: of.text(i), value: part, text: percent(part) })),
        ),
    ),
    found.length > 0 &&
      table({
        caption: `${termName(w)} in ${kind}`,
        rows: found,
        className: "bars",
        columns: [
          { name: of.name, heading: true, cell: ({ i }) => of.link(i) },
          { name: "Part", right: true, cell: ({ part }) => percent(part) },
          { name: "", wide: true, cell: ({ part }) => bar(part, 1) },
        ],
      }),
    found.length > 0 &&
      rest >= 0.005 &&
      el("p", { class: "quiet" }, `${percent(rest)} in others, of less than 3 % each or beyond the first six.`),
  );
}
