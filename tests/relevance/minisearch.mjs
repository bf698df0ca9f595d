// Asks npm `minisearch` the queries of the graded set: minisearch.mjs MODULE WORK. Reads WORK/products.json, and writes
// WORK/minisearch.json.
import { readFileSync, writeFileSync } from 'node:fs';

const [module, work] = process.argv.slice(2);
const { default: MiniSearch } = await import(module);
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const graded = read(`${process.env.RELEVANCE}/graded_open.json`);
const unspaced = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]/;

// The words of a text; pairs of characters where words have no spaces between them.
const words = (text) =>
  (text.normalize('NFKC').toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) => {
    if (!unspaced.test(word)) return [word];
    const letters = [...word];
    return letters.length < 2 ? [word] : letters.slice(1).map((letter, at) => letters[at] + letter);
  });

const results = {};
for (const [catalog, products] of Object.entries(read(`${work}/products.json`))) {
  const index = new MiniSearch({
    fields: ['title', 'kinds', 'brand', 'tags', 'options', 'codes', 'description'],
    tokenize: words,
    searchOptions: { boost: { title: 4, kinds: 2, brand: 2.5, tags: 2, options: 1.5 }, fuzzy: 0.2, prefix: true },
  });
  index.addAll(products);
  for (const { id, query } of graded.filter((query) => query.catalog === catalog)) {
    const begun = performance.now();
    const ids = index.search(query).slice(0, 10).map((found) => found.id);
    results[id] = { ids, ms: performance.now() - begun };
  }
}
writeFileSync(`${work}/minisearch.json`, JSON.stringify(results));
