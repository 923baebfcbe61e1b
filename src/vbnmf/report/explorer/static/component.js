// Component: the terms that describe it, or its terms by relevance, the labels it serves, its most typical documents; one, or two beside each other.

views.component = {
  title: "Component",
  draw() {
    const k = integer("k", data.components.length) ?? heaviest();
    const other = integer("with", data.components.length);
    const shown = other === null || other === k ? [k] : [k, other];
    const places = shown.map(() => el("div", { class: "terms" }));
    const fill = () =>
      shown.forEach((one, i) => places[i].replaceChildren(termTable(one, shown.length > 1 ? shown[1 - i] : null)));
    fill();
    return [
      heading("Component ", el("span", { class: "tag" }, `#${k}`), " ", bdi(data.components[k].name)),
      controls(
        steps(
          "component",
          "k",
          k,
          data.components.map((_, i) => componentName(i)),
          "component",
        ),
        pinButton(k),
        choice("with", "Compare with", [["", "nothing"], ...pinsFirst(k).map((i) => [i, componentName(i)])]),
        choice("rank", "Terms", [
          ["", "that describe it"],
          ["relevance", "by relevance"],
        ]),
        byRelevance() && slider(fill),
      ),
      el(
        "div",
        { class: shown.length > 1 ? "two" : "one" },
        shown.map((one, i) => panel(one, places[i], shown.length > 1)),
      ),
    ];
  },
};

const heaviest = () =>
  data.components.reduce((best, component, k) => (component.mass > data.components[best].mass ? k : best), 0);
const byRelevance = () => param("rank") === "relevance";
const relevance = () => integer("relevance", data.steps.length) ?? data.step;

// The terms of a component: those that describe it, or the most relevant ones
function ranked(k) {
  const { terms, describing } = data.components[k];
  const place = new Map(terms.map((term) => [term[0], term]));
  const chosen = byRelevance() ? mostRelevant(k) : describing.map((w) => place.get(w));
  return chosen.map(([w, p, low, high]) => ({ w, p, low, high, lift: p / (data.terms.p[w] || 1e-300) }));
}

// By relevance at a step of λ: q(w|k)^λ ln(q(w|k) / q(w)), where q are parts of weights that are divided by the units of
// the terms
function mostRelevant(k) {
  const lambda = data.steps[relevance()];
  const { unit, average } = data.terms;
  const frequency = ([w, p]) => p / unit[w] / (data.components[k].size || 1e-300);
  const score = (w, q) => (q > 0 ? q ** lambda * Math.log(q / (average[w] || 1e-300)) : 0);
  return data.components[k].terms
    .map((term) => [score(term[0], frequency(term)), term])
    .sort(([a, s], [b, t]) => b - a || s[0] - t[0])
    .slice(0, data.top)
    .map(([, term]) => term);
}

function slider(fill) {
  const last = data.steps.length - 1;
  const shown = (step) => `λ = ${data.steps[step]}`;
  const output = el("output", { for: "relevance" }, shown(relevance()));
  const input = el("input", {
    type: "range",
    id: "relevance",
    min: 0,
    max: last,
    step: 1,
    value: relevance(),
    "aria-describedby": "relevance-ends",
    "aria-valuetext": shown(relevance()),
    oninput: () => {
      const step = Number(input.value);
      adjust({ relevance: step === data.step ? null : step });
      output.textContent = shown(step);
      input.setAttribute("aria-valuetext", shown(step));
      fill();
    },
  });
  return el(
    "div",
    { class: "slider" },
    el("label", { for: "relevance" }, "Relevance"),
    output,
    input,
    el(
      "span",
      { id: "relevance-ends", class: "ends" },
      el("span", null, "most specific"),
      " ",
      el("span", null, "most frequent"),
    ),
  );
}

function termTable(k, other) {
  const terms = ranked(k);
  const shared = new Set(other === null ? [] : ranked(other).map((term) => term.w));
  const most = largest(terms.map((term) => term.high ?? term.p));
  return table({
    caption: `Terms of component ${componentName(k)}`,
    rows: terms,
    className: "bars",
    columns: [
      {
        name: "Term",
        heading: true,
        cell: ({ w }) => [termLink(w), shared.has(w) && el("span", { class: "tag" }, " in both")],
      },
      { name: "Part", right: true, cell: ({ p }) => percent(p) },
      {
        name: `${100 * data.level} % interval`,
        wide: true,
        cell: ({ p, low, high }) =>
          el(
            "span",
            { class: "withbar", title: `${percent(low)} to ${percent(high)}` },
            bar(p, most, low, high),
            el("span", { class: "hidden" }, `${percent(low)} to ${percent(high)}`),
          ),
      },
      { name: "Lift", right: true, cell: ({ lift }) => times(lift) },
    ],
  });
}

function panel(k, place, several) {
  const component = data.components[k];
  const npmi = data.quality?.npmi_documents[k];
  return el(
    "div",
    { class: "panel" },
    el(
      "div",
      { class: "about" },
      several && el("h3", null, componentLink(k)),
      facts(
        scopeWords(k) ?? (component.background && "initialised with terms that are common to all documents"),
        `makes up ${percent(component.mass)} of all documents`,
        npmi !== undefined && !component.faded && `NPMI by documents: ${number(npmi, 2)} (1 if its terms always occur together)`,
        component.faded && "faded",
      ),
    ),
    section(
      "Terms",
      component.faded
        ? "This component has faded: its terms depend more on the prior than on the documents. They have no meaning, so they are not listed."
        : `${
            byRelevance()
              ? "The terms that are frequent in this component, and more frequent here than elsewhere."
              : "Terms that are relevant here, occur together in documents, and appear in few other lists."
          } Part: how much of the component the term makes up, with a ${100 * data.level} % credible interval. These intervals are too narrow, because the model treats all unknown quantities as independent. Lift: how many times more frequent the term is here than in all documents.`,
      !component.faded && downloads(
        `component-${k}-terms`,
        () => [
          ["term", "part", "low", "high", "lift"],
          ...ranked(k).map(({ w, p, low, high, lift }) => [termName(w), p, low, high, Number(lift.toPrecision(5))]),
        ],
        () =>
          barsPicture(
            componentName(k),
            ranked(k).map(({ w, p, low, high }) => ({ name: termName(w), value: p, low, high, text: percent(p) })),
          ),
      ),
      !component.faded && place,
    ),
    el("div", null, data.labels.length > 0 && servedLabels(k), data.documents && typicalDocuments(k)),
  );
}

function servedLabels(k) {
  const served = range(data.labels.length)
    .map((l) => ({ l, part: data.use[l][k] }))
    .filter(({ part }) => part >= 0.005)
    .sort((a, b) => b.part - a.part);
  const most = largest(served.map(({ part }) => part));
  return section(
    "Labels it serves",
    served.length ? "How much of each label it makes up." : "It makes up less than 0.5 % of every label.",
    downloads(
      `component-${k}-labels`,
      () => [["label", "part"], ...range(data.labels.length).map((l) => [labelName(l), data.use[l][k]])],
      () =>
        barsPicture(
          `${componentName(k)}: labels`,
          served.map(({ l, part }) => ({ name: labelName(l), value: part, text: percent(part) })),
        ),
    ),
    served.length > 0 &&
      table({
        caption: `Labels that component ${componentName(k)} serves`,
        rows: served.slice(0, 12),
        className: "bars",
        columns: [
          { name: "Label", heading: true, cell: ({ l }) => labelLink(l) },
          { name: "Part", right: true, cell: ({ part }) => percent(part) },
          { name: "", wide: true, cell: ({ part }) => bar(part, most) },
        ],
      }),
    served.length > 12 && el("p", { class: "quiet" }, `The CSV has ${count(served.length - 12)} more.`),
  );
}

function typicalDocuments(k) {
  const typical = pairs(data.documents.typical[k]);
  const title = "Most typical documents";
  if (!typical.length) return section(title, "It makes up less than 5 % of every document on this page.", null);
  return withDocuments((docs) =>
    section(
      title,
      data.labels.length ? "How much of each document it makes up, and the predicted label." : "How much of each document it makes up.",
      downloads(`component-${k}-documents`, () => {
        const [head, ...rows] = documentRows(
          docs,
          typical.map(([d]) => d),
        );
        return [["part", ...head], ...rows.map((row, i) => [typical[i][1] / 1000, ...row])];
      }),
      el(
        "ul",
        { class: "cards" },
        typical.map(([d, part]) => documentCard(docs, d, percent(part / 1000))),
      ),
    ),
  );
}

// ---- pinned components

const pins = () =>
  param("pins")
    .split(",")
    .filter(Boolean)
    .map(Number)
    .filter((k) => data.components[k]);
const pinsFirst = (k) => [...new Set([...pins(), ...data.order.components])].filter((i) => i !== k);

function pinButton(k) {
  const pinned = pins().includes(k);
  return el(
    "button",
    {
      type: "button",
      id: "pin",
      "aria-pressed": String(pinned),
      onclick: () =>
        adjust({ pins: (pinned ? pins().filter((i) => i !== k) : [...pins(), k]).join(",") }, { draw: true }),
    },
    pinned ? "Unpin" : "Pin",
  );
}
