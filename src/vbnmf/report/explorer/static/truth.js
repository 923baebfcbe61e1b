// Whether what the model says of labels holds, recounted from the labelled documents of the page.

function recounted(quality) {
  const rows = measuresAbout("statements");
  const counted = ({ value, out_of }) => (out_of === null ? "" : `${count(Math.round(value * out_of))} of ${count(out_of)}`);
  const some = rows.some(({ key }) => key === "shared_that_agree") ? "" : " No component is shared by some of the labels.";
  return (
    rows.length > 0 &&
    section(
      "What is said of labels, recounted",
      `Whether statements about labels hold in the ${plural(quality.labelled, "labelled document")}. Documents are counted. The agreement of labels is estimated from the terms of documents; it is about 1 if both labels mean the same by a component.${some}`,
      downloads(
        "recounted",
        () => [
          ["statement", "share", "of", "meaning"],
          ...rows.map(({ name, value, out_of, meaning }) => [name, value, out_of, meaning]),
        ],
        () =>
          barsPicture(
            "What is said of labels, recounted",
            rows.map((one) => ({ name: one.name, value: one.value, text: measureText(one) })),
          ),
      ),
      table({
        caption: "What is said of labels, recounted",
        rows,
        columns: [
          { name: "Statement", heading: true, cell: ({ name }) => name },
          { name: "Share", right: true, cell: measureText },
          { name: "Number", right: true, cell: counted },
          { name: "Meaning", cell: ({ meaning }) => meaning },
        ],
      }),
      fidelityByLabel(quality),
    )
  );
}

function fidelityByLabel({ label_fidelity, label_terms }) {
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
      caption: `Part of the documents that have two of the label's ${label_terms} terms`,
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
  const terms = `at least two of its first ${data.quality.label_terms} characteristic terms`;
  const others = elsewhere === null ? "" : `, and ${percent(elsewhere)} of those without the label`;
  return `${percent(here)} of its documents that this page was made with have ${terms}${others}`;
}
