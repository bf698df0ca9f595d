// What README.md shows works, and what it says about the goods is so.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { products, variantById } from '../src/catalog.mjs';
import { kinds } from '../src/fault.mjs';
import { Client } from './client.mjs';

const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8');
const documents = [...readme.matchAll(/^```graphql\n([\s\S]*?)^```/gm)].map(([, document]) => document);
const client = new Client();

suite('README.md', () => {
  before(() => client.start());
  after(() => client.stop());

  test('shows queries that work', async () => {
    assert.equal(documents.length, 5);
    const answers = [];
    for (const document of documents) answers.push(await client.data(document));
    const [{ search }, { products: browsed }, { nodes }, { product }, { cartCreate }] = answers;
    assert.equal(search.nodes.length, 5);
    for (const { title, priceRange } of search.nodes) {
      assert.match(title, /Chemise/);
      const { amount, currencyCode } = priceRange.minVariantPrice;
      assert.ok(Number(amount) >= 50 && Number(amount) <= 250 && currencyCode === 'EUR', amount);
    }
    assert.deepEqual(
      browsed.edges.map(({ node }) => node.title),
      ['Limited Print', 'Matrix Bolt', 'Vintage Poster'],
    );
    assert.deepEqual(
      nodes.map((node) => node?.__typename),
      ['Product', 'ProductVariant', undefined],
    );
    assert.match(product.selectedOrFirstAvailableVariant.title, /^M8 /);
    assert.ok(variantById.has(product.v0.id));
    assert.deepEqual(
      [cartCreate.userErrors, cartCreate.warnings.map(({ code }) => code)],
      [[], ['MERCHANDISE_NOT_ENOUGH_STOCK', 'DISCOUNT_NOT_FOUND']],
    );
    assert.equal(cartCreate.cart.deliveryGroups.nodes.length, 1);
  });

  test('names every fault', () => {
    for (const kind of kinds.filter((name) => !name.includes(' '))) assert.ok(readme.includes(`\`${kind}\``), kind);
  });

  test('counts the goods, and names those with a point to make', () => {
    const say = (number) => number.toLocaleString('en');
    assert.ok(readme.includes(`${products.length} products with ${say(variantById.size)} variants`));
    for (const { number, title } of products.filter((product) => product.number < 2_000)) {
      const plain = title.replaceAll(/[\u202a-\u202e]/g, '');
      assert.ok(
        readme.split('\n').some((line) => line.includes(String(number)) && line.includes(plain)),
        plain,
      );
    }
  });
});
