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
      naming("components", data.components[k]),
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
      { name: "Share", right: true, cell: ({ p }) => percent(p) },
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
        scopes?.components[k].agreement,
        `explains ${percent(component.mass)} of the training documents' weight`,
        npmi !== undefined && !component.faded && `NPMI by documents: ${number(npmi, 2)} (1 if its first ten terms always occur together)`,
        component.alike.length > 0 && alikeComponents(k),
        component.passage && passageWords(component.passage),
        component.faded && "faded",
      ),
    ),
    section(
      "Terms",
      component.faded
        ? "This component has faded: its terms depend more on the prior than on the documents. They have no meaning, so they are not listed."
        : `${
            byRelevance()
              ? "The terms that have much weight in this component, and more than in other components."
              : "Terms that are relevant here, occur together in training documents, and appear in few other lists."
          } Share: the term's share of the component's weight, with a ${100 * data.level} % credible interval. These intervals are too narrow, because the model treats all unknown quantities as independent. Lift: how many times larger this share is than the term's share of all documents' weight, as the model expects it.`,
      !component.faded && downloads(
        `component-${k}-terms`,
        () => [
          ["term", "share", "low", "high", "lift"],
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
    .map((l) => ({ l, part: data.use[l][k], found: data.quality?.label_parts?.[l]?.[k] ?? null }))
    .filter(({ part }) => part >= 0.005)
    .sort((a, b) => b.part - a.part);
  const most = largest(served.map(({ part }) => part));
  const known = data.quality?.labelled > 0;
  return section(
    "Labels it serves",
    served.length
      ? `Expected share: the share of the label's weight that the model expects it to explain. It is not a count of documents.${known ? " In documents: its share of the weight of the label's documents that this page was made with, estimated from their terms without their labels." : ""}`
      : "Its expected share of every label's weight is below 0.5 %.",
    downloads(
      `component-${k}-labels`,
      () => [
        ["label", "expected share", ...(known ? ["share in documents"] : [])],
        ...range(data.labels.length).map((l) => [
          labelName(l),
          data.use[l][k],
          ...(known ? [data.quality.label_parts[l][k] ?? null] : []),
        ]),
      ],
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
          { name: "Expected share", right: true, cell: ({ part }) => percent(part) },
          { name: "", wide: true, cell: ({ part }) => bar(part, most) },
          ...(known ? [{ name: "In documents", right: true, cell: ({ found }) => percent(found) }] : []),
        ],
      }),
    served.length > 12 && el("p", { class: "quiet" }, `The CSV has ${count(served.length - 12)} more.`),
  );
}

function typicalDocuments(k) {
  const typical = pairs(data.documents.typical[k]);
  const title = "Most typical documents on this page";
  if (!typical.length)
    return section(title, "Its share of every document on this page is below 5 %, as the model estimates it.", null);
  return withDocuments((docs) =>
    section(
      title,
      `The estimated share of each document's weight that it explains${data.labels.length ? ", and the predicted label with its probability" : ""}. Long documents come before short ones of the same share.`,
      downloads(`component-${k}-documents`, () => {
        const [head, ...rows] = documentRows(
          docs,
          typical.map(([d]) => d),
        );
        return [["share", ...head], ...rows.map((row, i) => [typical[i][1] / 1000, ...row])];
      }),
      el(
        "ul",
        { class: "cards" },
        typical.map(([d, part]) => documentCard(docs, d, percent(part / 1000))),
      ),
    ),
  );
}

// What is said of a component that is mostly a passage that recurs
const passageWords = ({ among, of, terms, documents, examined }) =>
  `Recurring passage: ${count(among)} of its ${count(of)} most relevant terms belong to a passage of ${count(terms)} terms, such as a signature; ${count(documents)} of ${count(examined)} training documents have at least half of them. The list of terms that describe it shows one.`;

// The components with nearly the same terms, each to compare with
const alikeComponents = (k) => [
  "Similar, with nearly the same terms: ",
  pairs(data.components[k].alike)
    .slice(0, 5)
    .map(([other, cosine], i) => [
      i > 0 && ", ",
      componentLink(other),
      " (",
      link("component", { k, with: other }, `cosine ${cosineText(cosine)}`),
      ")",
    ]),
  data.components[k].alike.length > 10 && ` and ${count(data.components[k].alike.length / 2 - 5)} more`,
];
const cosineText = (cosine) => (cosine >= 0.995 && cosine < 1 ? ">0.99" : cosine.toFixed(2));

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
