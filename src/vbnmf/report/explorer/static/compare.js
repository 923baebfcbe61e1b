// Compare: a label with another, or with the rest: words more in A, in both, more in B, components, confusions, and the
// two closest documents. Swapping A and B mirrors it.

if (data.labels.length > 1 && data.contrast) views.compare = { title: "Compare", draw: drawCompare };

const REST = "rest";
const COMPARED = 15; // words in each list
const Z95 = 1.959963984540054;

// Training documents of a side that have each word: of a label, or of all documents that are not known to have it. noise:
// the largest |z| of any word between random halves of the label
const countsOf = new Map();
function labelCounts(l) {
  if (!countsOf.has(l)) {
    const found = new Array(data.contrast.words.length).fill(0);
    let at = 0;
    for (const [gap, n] of pairs(data.contrast.labels[l])) {
      at += gap;
      found[at] = n;
    }
    countsOf.set(l, found);
  }
  return countsOf.get(l);
}
const sideOf = (side, other) =>
  side === REST
    ? { name: `all but ${labelName(other)}`, n: data.labels[other].elsewhere, counts: labelCounts(other).map((n, i) => data.contrast.documents[i] - n), noise: 0 }
    : { name: labelName(side), n: data.labels[side].documents, counts: labelCounts(side), noise: data.contrast.noise[side] };

// Log-odds of a word in A against B, with its 95 % interval and p-value; as vbnmf.metrics.log_odds. p: the share of all
// training documents that have it, the prior
function logOdds(n, N, m, M, p) {
  const [alpha, beta] = [0.5 + p, 1.5 - p];
  const [a, b, c, d] = [n + alpha, N - n + beta, m + alpha, M - m + beta];
  const [delta, sigma] = [Math.log(a / b) - Math.log(c / d), Math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)];
  return { odds: delta, low: delta - Z95 * sigma, high: delta + Z95 * sigma, z: delta / sigma, p: 2 * normalTail(Math.abs(delta / sigma)) };
}

// The share of a normal distribution above z (Abramowitz and Stegun, 26.2.17; off by less than 1e-7)
function normalTail(z) {
  const t = 1 / (1 + 0.2316419 * z);
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
}

// p-values corrected for many words (Benjamini and Hochberg 1995)
function corrected(values) {
  const order = range(values.length).sort((a, b) => values[b] - values[a]);
  const found = new Array(values.length);
  let least = 1;
  order.forEach((i, rank) => {
    least = Math.min(least, (values[i] * values.length) / (values.length - rank));
    found[i] = least;
  });
  return found;
}

// All words that either side has, with counts of documents of both
function comparedWords(A, B) {
  const rows = [];
  data.contrast.words.forEach((w, i) => {
    const [n, m] = [A.counts[i], B.counts[i]];
    if (n + m > 1) rows.push({ w, n, m, ...logOdds(n, A.n, m, B.n, data.contrast.documents[i] / data.contrast.total) });
  });
  const q = corrected(rows.map(({ p }) => p));
  return rows.map((row, i) => ({ ...row, q: q[i], chance: q[i] >= 0.05 || Math.abs(row.z) <= Math.max(A.noise, B.noise) }));
}

// More in one side, the most characteristic first; as vbnmf.metrics.logodds.rank_scores
const more = (rows, sign, A, B) =>
  rows
    .map((row) => ({ ...row, least: sign > 0 ? row.low : -row.high, share: sign > 0 ? row.n / A.n : row.m / B.n }))
    .filter(({ least }) => least > 0)
    .sort((a, b) => Math.cbrt(b.share) * b.least - Math.cbrt(a.share) * a.least)
    .slice(0, COMPARED);
// In both: a large share of either side, and rarer in all documents
function inBoth(rows, A, B) {
  const of = (w) => data.contrast.documents[data.contrast.words.indexOf(w)] / data.contrast.total;
  return rows
    .filter(({ n, m, low, high }) => n > 1 && m > 1 && low <= 0 && high >= 0)
    .map((row) => ({ ...row, score: Math.min(row.n / A.n, row.m / B.n) * Math.log(1 / Math.max(of(row.w), 1e-9)) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, COMPARED);
}

function drawCompare() {
  const [first, second] = data.structure?.merges[0] ?? [data.order.labels[0]]; // the pair that looks most like one label
  const a = integer("a", data.labels.length) ?? first;
  const chosen = integer("b", data.labels.length) ?? (a === first && param("a") === "" ? (second ?? null) : null);
  const b = param("b") === REST ? REST : chosen !== null && chosen !== a ? chosen : (data.near[a][0]?.[0] ?? REST);
  const [A, B] = [sideOf(a, b), sideOf(b, a)];
  const rows = comparedWords(A, B);
  const near = data.near[a].map(([m]) => m);
  const others = [...near, ...data.order.labels.filter((m) => m !== a && !near.includes(m))];
  const names = (l) => data.order.labels.map((m) => [m, labelName(m)]).filter(([m]) => m !== l);
  const pick = (name, title, value, options) => {
    const select = el("select", { id: `choose-${name}`, onchange: () => visit(address("compare", { a, b, [name]: select.value })) }, options.map(([v, shown]) => el("option", { value: v, selected: String(v) === String(value) }, shown)));
    return el("label", { class: "choice", for: `choose-${name}` }, el("span", null, title), select);
  };
  return [
    heading("Compare ", bdi(A.name), " with ", bdi(B.name)),
    compareOrStructure("compare"),
    controls(
      pick("a", "A", a, names(b)),
      b !== REST && el("a", { class: "button", href: address("compare", { a: b, b: a }), "aria-label": "Swap A and B" }, "⇄"),
      pick("b", "B", b, [...near.slice(0, 1).map((m) => [m, `${labelName(m)} (nearest)`]), [REST, "all other documents"], ...others.filter((m) => m !== near[0]).map((m) => [m, labelName(m)])]),
      downloads(`compare-${a}-${b}`, () => [
        ["word", `documents of ${A.name}`, `documents of ${B.name}`, "log-odds", "low", "high", "p corrected", "may be chance"],
        ...rows.map(({ w, n, m, odds, low, high, q, chance }) => [termName(w), n, m, ...[odds, low, high, q].map((v) => Number(v.toPrecision(4))), chance]),
      ]),
    ),
    el(
      "p",
      { class: "lead" },
      `Training documents that have each word are counted: of ${count(A.n)} and ${count(B.n)}${b === REST ? withUnlabelled() : ""}. A word is listed under one side if the 95 % interval of its log-odds says so. “?” marks those that may be there by chance: because ${plural(rows.length, "word")} were compared (false discovery rate above 5 %), or because some word differs as much between random halves of one label (|z| up to ${number(Math.max(A.noise, B.noise), 2)}). The CSV has all words.`,
    ),
    el(
      "div",
      { class: "three" },
      comparedTable(["More in ", bdi(A.name)], `more in A`, more(rows, 1, A, B), A, B),
      comparedTable("In both", "in both", inBoth(rows, A, B), A, B),
      comparedTable(["More in ", bdi(B.name)], `more in B`, more(rows, -1, A, B), A, B),
    ),
    el("div", { class: "two" }, comparedComponents(a, b), b !== REST && el("div", null, comparedConfusions(a, b), data.documents && closestDocuments(a, b))),
  ];
}

const minus = (value) => value.toFixed(1).replace(/^-(?!0\.0$)/, "−").replace("-", "");

function comparedTable(title, caption, rows, A, B) {
  return el(
    "section",
    null,
    el("h3", null, title),
    rows.length
      ? table({
          caption: `Words ${caption}`,
          rows,
          className: "compared",
          columns: [
            { name: "Word", heading: true, cell: ({ w, low, high, chance }) => [termLink(w), (low > 0 || high < 0) && chance && el("span", { class: "chance", title: "It may be by chance" }, " ?")] },
            { name: "A", right: true, cell: ({ n }) => count(n) },
            { name: "B", right: true, cell: ({ m }) => count(m) },
            { name: "", wide: true, cell: ({ n, m }) => twoBars(n / A.n, m / Math.max(B.n, 1)) },
            { name: "Log-odds", right: true, cell: ({ odds, low, high }) => [minus(odds), el("span", { class: "interval" }, ` ${minus(low)} to ${minus(high)}`)] },
          ],
        })
      : el("p", { class: "quiet" }, "No word."),
  );
}

function comparedComponents(a, b) {
  const rest = (k) => data.labels.reduce((sum, label, l) => sum + (l === a ? 0 : label.documents * data.use[l][k]), 0) / Math.max(data.labels.reduce((sum, label, l) => sum + (l === a ? 0 : label.documents), 0), 1);
  const rows = range(data.components.length)
    .map((k) => ({ k, x: data.use[a][k], y: b === REST ? rest(k) : data.use[b][k] }))
    .filter(({ x, y }) => Math.max(x, y) >= MATTERS)
    .sort((p, q) => q.x - q.y - (p.x - p.y));
  return section(
    "Components",
    "Expected share of the weight of A and of B, by the model; not a count. Those of A come first, then those of both, then those of B.",
    downloads(`compare-${a}-${b}-components`, () => [["component", "name", "A", "B"], ...rows.map(({ k, x, y }) => [k, data.components[k].name, x, Number(y.toPrecision(5))])]),
    table({
      caption: "Components of A and B",
      rows,
      className: "bars",
      columns: [
        { name: "Component", heading: true, cell: ({ k }) => componentLink(k) },
        { name: "A", right: true, cell: ({ x }) => percent(x) },
        { name: "B", right: true, cell: ({ y }) => percent(y) },
        { name: "", wide: true, cell: ({ x, y }) => twoBars(x, y) },
      ],
    }),
  );
}

function comparedConfusions(a, b) {
  if (!data.overview) return null;
  const n = (l, m) => data.overview.confusions[l]?.find(([other]) => other === m)?.[1] ?? 0;
  const line = (l, m) => el("li", null, n(l, m) ? countedLink({ truth: l, given: m, only: "confused" }, n(l, m)) : "0", " given ", bdi(labelName(l)), ", predicted ", bdi(labelName(m)));
  return section("Confusions", null, null, el("ul", { class: "plain" }, line(a, b), line(b, a)));
}

// The pair of documents, one of each label, whose words are most similar
function closestDocuments(a, b) {
  return withDocuments((docs) => {
    const of = (l) => range(docs.ids.length).filter((d) => (docs.truth?.[d] ?? docs.given[d]).includes(l)).slice(0, 400);
    const rare = (w) => -Math.log(Math.max(data.terms.p[w], 1e-9));
    const vector = (d) => {
      const terms = [...new Set(docs.terms[d].filter((w) => w >= 0))];
      const length = Math.sqrt(terms.reduce((sum, w) => sum + rare(w) ** 2, 0)) || 1;
      return new Map(terms.map((w) => [w, rare(w) / length]));
    };
    const [left, right] = [of(a).map((d) => [d, vector(d)]), of(b).map((d) => [d, vector(d)])];
    const holders = new Map(); // documents of B by word
    right.forEach(([, words], j) => words.forEach((x, w) => holders.set(w, [...(holders.get(w) ?? []), [j, x]])));
    let best = { near: 0 };
    for (const [d, words] of left) {
      if (words.size < 3) continue;
      const sums = new Float64Array(right.length);
      for (const [w, x] of words) for (const [j, y] of holders.get(w) ?? []) sums[j] += x * y;
      sums.forEach((near, j) => {
        if (near > best.near && right[j][0] !== d && right[j][1].size > 2) best = { near, d, e: right[j][0] };
      });
    }
    return section(
      "The two closest documents",
      best.near > 0 ? `Of the documents of this page, one of each label: cosine of their words ${best.near.toFixed(2)}.` : "No document of one label has a word of the other.",
      null,
      best.near > 0 && el("ul", { class: "cards" }, documentCard(docs, best.d), documentCard(docs, best.e)),
    );
  });
}
