// The calls that every lane makes of the sample shop, and what is right to answer. shop.py is the same for Python.
import assert from 'node:assert/strict';

/** Every release of UCP that the gateway speaks, each at endpoints of its own below /ucp/RELEASE. */
export const releases = ['2026-01-11', '2026-01-23', '2026-04-08', '2026-08-25'];
/** The one it speaks where the caller has not said otherwise. */
export const newest = releases.at(-1);
/** Those that have a catalog themselves. In the others it can be called as the founding documents have it. */
export const published = ['2026-04-08', '2026-08-25'];

/** What an answer says about the protocol. */
function checkEnvelope({ ucp }, release, capability, version = release) {
  assert.equal(ucp.version, release);
  assert.deepEqual(ucp.capabilities, { [`dev.ucp.shopping.catalog.${capability}`]: [{ version }] });
  assert.equal(ucp.status, published.includes(release) ? 'success' : undefined, 'only newer releases have a status');
}

// Older releases have no lookup: there it has the date of the draft that it was in.
const checkLookupEnvelope = (answer, release) =>
  checkEnvelope(answer, release, 'lookup', published.includes(release) ? release : '2026-02-01');

const labels = (axis, test) => axis.values.filter(test).map((value) => value.label);

/** Full-text search, as a buyer types it. */
export const search = {
  request: { query: 'runner pro', context: { address_country: 'US', currency: 'USD' } },
  check(answer, release = newest) {
    checkEnvelope(answer, release, 'search');
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
  check(answer, release = newest) {
    checkLookupEnvelope(answer, release);
    assert.deepEqual(answer.products.map((product) => product.id), ['prod_abc123'], 'once, though asked for twice');
    const [variant, ...others] = answer.products[0].variants;
    assert.deepEqual(others, []);
    assert.deepEqual(variant.inputs, [{ id: 'prod_abc123', match: 'featured' }]);
    assert.deepEqual(variant.input, published.includes(release) ? undefined : variant.inputs);
    const unknown = answer.messages.filter((message) => message.code === 'not_found');
    assert.deepEqual(unknown.map(({ type, content }) => ({ type, content })), [{ type: 'info', content: 'prod_unknown' }]);
  },
};

/** A product page with one option chosen: no Blue in size 11, and no Green left in any size. */
export const detail = {
  request: { id: 'prod_abc123', selected: [{ name: 'Color', label: 'Blue' }], preferences: ['Color', 'Size'] },
  check(answer, release = newest) {
    checkLookupEnvelope(answer, release);
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
  check(answer, release = newest) {
    assert.equal(answer.ucp.version, release);
    assert.equal(answer.ucp.status, 'error');
    assert.equal(answer.product, undefined);
    const [{ type, code, severity }] = answer.messages;
    assert.deepEqual({ type, code, severity }, { type: 'error', code: 'not_found', severity: 'unrecoverable' });
  },
  /** To older releases it is an error of JSON-RPC. */
  checkError({ code, message, data }) {
    assert.equal(code, -32602, message);
    // The first generation of the SDK puts the number before the text.
    assert.match(message, /Product not found$/);
    assert.equal(data.id, 'prod_unknown');
    assert.deepEqual(data.errors.map(({ code, severity }) => ({ code, severity })), [{ code: 'not_found', severity: 'requires_buyer_input' }]);
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
