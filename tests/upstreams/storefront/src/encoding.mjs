// How Shopify writes down which combinations of option values exist: `v1_`, then a trie of positions. `:` goes down to the
// next option, `,` closes a prefix, and in the last option a space is a gap and `-` a range. The schema's description of
// `encodedVariantExistence` is the specification, Hydrogen's decoder the judge (test/encoding.test.mjs).

/** Encodes tuples of positions, one for each option: `[[0, 0], [0, 1]]` is `v1_0:0-1,`. Without tuples, `v1_`. */
export function encode(tuples) {
  const root = new Map();
  for (const tuple of tuples) {
    let node = root;
    for (const position of tuple) {
      if (!node.has(position)) node.set(position, new Map());
      node = node.get(position);
    }
  }
  return `v1_${level(root)}`;
}

function level(node) {
  const positions = [...node.keys()].sort((a, b) => a - b);
  const isLast = positions.every((position) => node.get(position).size === 0);
  if (isLast) return ranges(positions);
  return positions.map((position) => `${position}:${level(node.get(position))},`).join('');
}

function ranges(positions) {
  const runs = [];
  for (const position of positions) {
    const run = runs.at(-1);
    if (run && run.to + 1 === position) run.to = position;
    else runs.push({ from: position, to: position });
  }
  return runs.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(' ');
}
