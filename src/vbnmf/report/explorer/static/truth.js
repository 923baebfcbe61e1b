// Whether what the model says of labels holds, recounted from the labelled documents of the page.

// Rows of the table: what is said, how many of how many, the part, and what it means
function statements({ truth, limits }) {
  const shared = truth.shared_components;
  const said = truth.components_said;
  const main = "The two labels that use the component most take";
  const tenth = percent(limits.said);
  return [
    {
      name: "Shared components whose labels agree",
      part: truth.shared_that_agree,
      of: shared,
      about: `${main} the same terms from it: agreement of at least ${limits.agrees}.`,
    },
    {
      name: "Glued components",
      part: truth.shared_that_are_glued,
      of: shared,
      about: `${main} different terms from it, so that it is two topics under one name: agreement below ${limits.glued}.`,
    },
    {
      name: "Fidelity of labels",
      part: truth.label_fidelity,
      about: `Documents of a label that have at least two of its first ${limits.terms} characteristic terms; mean over labels.`,
    },
    {
      name: "The same, elsewhere",
      part: truth.label_fidelity_elsewhere,
      about: "Documents without the label that have two of these terms. It should be much smaller.",
    },
    {
      name: "Fidelity of components",
      part: truth.component_fidelity,
      of: said,
      about: `Components with an expected part of at least ${tenth} of a label, for which documents confirm it: at least half this part of the label's documents have two of the ${limits.component_terms} terms of the component there.`,
    },
  ].filter(({ part }) => (part ?? null) !== null);
}

function recounted(quality) {
  const rows = statements(quality);
  const counted = ({ part, of }) => (of === undefined ? "" : `${count(Math.round(part * of))} of ${count(of)}`);
  const some = quality.truth.shared_components === 0 ? " No component is shared by some of the labels." : "";
  return (
    rows.length > 0 &&
    section(
      "What is said of labels, recounted",
      `Whether statements about labels hold in the ${plural(quality.labelled, "document")} with known labels. Documents are counted. The agreement of labels is estimated from the terms of documents; it is about 1 if both labels mean the same by a component.${some}`,
      downloads(
        "recounted",
        () => [
          ["statement", "part", "of", "meaning"],
          ...rows.map(({ name, part, of, about }) => [name, part, of, about]),
        ],
        () =>
          barsPicture(
            "What is said of labels, recounted",
            rows.map(({ name, part }) => ({ name, value: part, text: percent(part) })),
          ),
      ),
      table({
        caption: "What is said of labels, recounted",
        rows,
        columns: [
          { name: "Statement", heading: true, cell: ({ name }) => name },
          { name: "Part", right: true, cell: ({ part }) => percent(part) },
          { name: "Number", right: true, cell: counted },
          { name: "Meaning", cell: ({ about }) => about },
        ],
      }),
      quality.label_fidelity && fidelityByLabel(quality),
    )
  );
}

function fidelityByLabel({ label_fidelity, limits }) {
  const rows = label_fidelity
    .map(([here, elsewhere], l) => ({ l, here, elsewhere }))
    .filter(({ here }) => here !== null);
  return el(
    "details",
    null,
    el("summary", null, "Fidelity by label"),
    downloads("fidelity", () => [
      ["label", "documents with two of its terms", "elsewhere"],
      ...rows.map(({ l, here, elsewhere }) => [labelName(l), here, elsewhere]),
    ]),
    table({
      caption: `Part of the documents that have two of the label's ${limits.terms} terms`,
      sorting: "fidelity",
      rows,
      className: "bars dense",
      columns: [
        { name: "Label", heading: true, cell: ({ l }) => labelLink(l), value: ({ l }) => labelName(l) },
        { name: "Its documents", right: true, cell: ({ here }) => percent(here), value: ({ here }) => here },
        { name: "", wide: true, cell: ({ here }) => bar(here, 1) },
        { name: "Elsewhere", right: true, cell: ({ elsewhere }) => percent(elsewhere), value: ({ elsewhere }) => elsewhere },
      ],
    }),
  );
}

// The fidelity of one label, in words; null if it is not known
function fidelityOfLabel(l) {
  const [here, elsewhere] = data.quality?.label_fidelity?.[l] ?? [null, null];
  if (here === null) return null;
  const terms = `at least two of its first ${data.quality.limits.terms} characteristic terms`;
  const others = elsewhere === null ? "" : `, and ${percent(elsewhere)} of those without the label`;
  return `${percent(here)} of its documents that this page was made with have ${terms}${others}`;
}
