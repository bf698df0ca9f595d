// The calls that every lane makes of the sample shop, and what is right to answer. shop.py is the same for Python.
import assert from 'node:assert/strict';

const labels = (axis, test) => axis.values.filter(test).map((value) => value.label);

/** Full-text search, as a buyer types it. */
export const search = {
  request: { query: 'runner pro', context: { address_country: 'US', currency: 'USD' } },
  check(answer) {
    assert.equal(answer.ucp.version, '2026-04-08');
    assert.ok(answer.ucp.capabilities['dev.ucp.shopping.catalog.search']);
    const [best] = answer.products;
    assert.equal(best.id, 'prod_abc123', 'the product of that very name comes first');
    assert.equal(best.title, 'Runner Pro');
    assert.equal(best.variants.length, 1, 'a search shows one featured variant');
    assert.equal(best.variants[0].price.currency, 'USD');
    assert.ok(Number.isInteger(best.variants[0].price.amount));
    assert.equal(typeof answer.pagination.has_next_page, 'boolean');
  },
};

/** A page of the whole shop: products with and without options, ratings, handles, pictures. */
export const browse = { request: { filters: { price: { min: 0 } }, context: { currency: 'USD' }, pagination: { limit: 50 } } };

/** A batch of ids of which the shop knows some. */
export const lookup = {
  request: { ids: ['prod_abc123', 'prod_unknown', 'prod_abc123'] },
  check(answer) {
    assert.deepEqual(answer.products.map((product) => product.id), ['prod_abc123'], 'once, though asked for twice');
    const [variant, ...others] = answer.products[0].variants;
    assert.deepEqual(others, []);
    assert.deepEqual(variant.inputs, [{ id: 'prod_abc123', match: 'featured' }]);
    const unknown = answer.messages.filter((message) => message.code === 'not_found');
    assert.deepEqual(unknown.map(({ type, content }) => ({ type, content })), [{ type: 'info', content: 'prod_unknown' }]);
  },
};

/** A product page with one option chosen: no Blue in size 11, and no Green left in any size. */
export const detail = {
  request: { id: 'prod_abc123', selected: [{ name: 'Color', label: 'Blue' }], preferences: ['Color', 'Size'] },
  check(answer) {
    const { product } = answer;
    assert.equal(product.title, 'Runner Pro');
    assert.deepEqual(product.selected.map(({ name, label }) => ({ name, label })), [{ name: 'Color', label: 'Blue' }]);
    const [color, size] = ['Color', 'Size'].map((name) => product.options.find((option) => option.name === name));
    assert.deepEqual(labels(color, (value) => value.exists), ['Blue', 'Red', 'Green']);
    assert.deepEqual(labels(color, (value) => value.available), ['Blue', 'Red']);
    assert.deepEqual(labels(size, (value) => !value.exists), ['11']);
    assert.deepEqual(labels(size, (value) => value.available), ['8', '9', '10', '12']);
    assert.equal(product.variants.length, 4);
    for (const variant of product.variants) {
      assert.ok(variant.options.some(({ name, label }) => name === 'Color' && label === 'Blue'), variant.id);
    }
  },
};

/** A product that is not there is an answer of the business, not a failure of the call. */
export const missing = {
  request: { id: 'prod_unknown' },
  check(answer) {
    assert.equal(answer.ucp.status, 'error');
    assert.equal(answer.product, undefined);
    const [{ type, code, severity }] = answer.messages;
    assert.deepEqual({ type, code, severity }, { type: 'error', code: 'not_found', severity: 'unrecoverable' });
  },
};

/** A call that is refused by the gateway itself, whatever the client checked before. */
export const refused = {
  request: { query: 'runner pro', pagination: { cursor: 'forged' } },
  code: 'invalid_cursor',
};

/** The tools, and the calls that are right for each. */
export const calls = [
  ['search_catalog', search],
  ['lookup_catalog', lookup],
  ['get_product', detail],
  ['get_product', missing],
];
export const tools = [...new Set(calls.map(([tool]) => tool))];
