// Requests as a whole: who may ask what, what they cost, how they are refused.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { tokens } from '../src/upstream.mjs';
import { Client, product, variant } from './client.mjs';

const client = new Client();
const codesOf = ({ errors }) => errors.map(({ extensions }) => extensions.code);

suite('requests', () => {
  before(() => client.start());
  after(() => client.stop());
  beforeEach(() => client.steer('POST', '/reset'));

  test('name a release, and old ones fall forward', async () => {
    const ask = async (version) => {
      const response = await client.post('{ shop { name } }', {}, { version });
      return [response.status, response.headers.get('x-shopify-api-version')];
    };
    assert.deepEqual(await ask('2026-04'), [200, '2026-04']);
    assert.deepEqual(await ask('2026-10'), [200, '2026-10']);
    assert.deepEqual(await ask('2024-01'), [200, '2026-01']);
    assert.deepEqual(await ask('unstable'), [200, 'unstable']);
    assert.deepEqual(await ask('2030-01'), [404, null]);
    assert.deepEqual(await ask('2026-05'), [404, null]);
    const { publicApiVersions } = await client.data('{ publicApiVersions { handle supported } }');
    assert.deepEqual(
      publicApiVersions.filter(({ supported }) => supported).map(({ handle }) => handle),
      ['2026-01', '2026-04', '2026-07', '2026-10'],
    );
  });

  test('are let in with a good token or none', async () => {
    for (const token of ['none', 'public', 'private'])
      assert.equal((await client.post('{ shop { name } }', {}, { token })).status, 200);
    for (const header of ['X-Shopify-Storefront-Access-Token', 'Shopify-Storefront-Private-Token']) {
      const response = await client.post('{ shop { name } }', {}, { token: 'none', headers: { [header]: 'guessed' } });
      assert.equal(response.status, 401);
      assert.deepEqual(codesOf(await response.json()), ['UNAUTHORIZED']);
    }
  });

  test('need the address of the buyer beside a private token, once that is switched on', async () => {
    const without = { token: 'private', headers: { 'Shopify-Storefront-Buyer-IP': '' } };
    assert.equal((await client.post('{ shop { name } }', {}, without)).status, 200);
    await client.steer('POST', '/settings', { requireBuyerIp: true });
    const response = await client.post('{ shop { name } }', {}, without);
    assert.deepEqual([response.status, await response.text()], [430, 'Shopify Security Rejection']);
    assert.equal((await client.post('{ shop { name } }', {}, { token: 'private' })).status, 200);
  });

  test('see no tags without a token', async () => {
    const document = `query Tags($tags: Boolean!) { product(id: "${product(1003)}") { title tags @include(if: $tags) } }`;
    assert.deepEqual((await client.data(document, { tags: true })).product.tags, ['tee', 'cotton', 'summer']);
    assert.deepEqual(await client.data(document, { tags: false }, { token: 'none' }), { product: { title: 'Summit Tee' } });
    const refused = await client.ask(document, { tags: true }, { token: 'none' });
    assert.deepEqual(
      [codesOf(refused), refused.errors[0].path, refused.data],
      [['ACCESS_DENIED'], ['product', 'tags'], { product: null }],
    );
  });

  test('keep what they may see beside what they may not', async () => {
    const partial = await client.ask(
      `{ node(id: "${variant(1013)}") { ... on ProductVariant { sku quantityAvailable } } }`,
      {},
      { token: 'none' },
    );
    assert.deepEqual(
      [partial.data, codesOf(partial)],
      [{ node: { sku: 'LIMITED-PRINT-1', quantityAvailable: null } }, ['ACCESS_DENIED']],
    );
  });

  test('cost what the rule says, and no more than the limit', async () => {
    const cost = async (document, variables) => (await client.ask(document, variables)).extensions.cost.requestedQueryCost;
    assert.equal(await cost('{ __typename }'), 0);
    assert.equal(await cost('{ shop { name } }'), 1);
    assert.equal(await cost('{ shop { privacyPolicy { url } } }'), 2);
    // A connection and its items, each with a price range of two amounts.
    const items = `query Items($first: Int!) { products(first: $first) {
        pageInfo { hasNextPage } nodes { title priceRange { minVariantPrice { amount } maxVariantPrice { amount } } }
      } }`;
    assert.equal(await cost(items, { first: 10 }), 1 + 10 * 4);
    assert.equal(await cost('{ products(first: 5) { edges { cursor node { options { optionValues { name } } } } } }'), 1 + 5 * 3);
    const lookup = `query Lookup($ids: [ID!]!, $deep: Boolean = false) { nodes(ids: $ids) {
        ... on Product { title options { name } } ... on ProductVariant { sku product @include(if: $deep) { options { name } } }
      } }`;
    assert.equal(await cost(lookup, { ids: [product(1003), variant(1003)] }), 2 * 2);
    assert.equal(await cost(lookup, { ids: [product(1003), variant(1003)], deep: true }), 2 * 3);
    assert.equal(await cost('mutation { cartCreate { cart { id } } }'), 11);

    const refused = await client.ask(items, { first: 250 });
    assert.deepEqual(
      [codesOf(refused), refused.data, refused.errors[0].extensions.cost],
      [['MAX_COST_EXCEEDED'], undefined, 1_001],
    );
    await client.steer('POST', '/settings', { costLimit: 1_001 });
    assert.equal((await client.data(items, { first: 250 })).products.nodes.length, 124);
  });

  test('page within limits', async () => {
    const ask = (args) => client.ask(`{ products${args} { nodes { id } pageInfo { startCursor hasPreviousPage } } }`);
    assert.match((await ask('')).errors[0].message, /first or last/);
    assert.match((await ask('(first: 251)')).errors[0].message, /cannot exceed 250/);
    assert.match((await ask('(first: 1, last: 1)')).errors[0].message, /both/);
    assert.match((await ask('(first: 1, after: "forged")')).errors[0].message, /Invalid cursor/);
    const last = (await ask('(last: 2)')).data.products;
    assert.deepEqual([last.nodes.map(({ id }) => id), last.pageInfo.hasPreviousPage], [[product(2104), product(2105)], true]);
    const before = (await ask(`(last: 1, before: "${last.pageInfo.startCursor}")`)).data.products;
    assert.deepEqual(before.nodes, [{ id: product(2103) }]);
  });

  test('are validated against the real schema', async () => {
    const cases = [
      ['{ shop { nane } }', 'undefinedField'],
      ['{ shop { name } ', 'PARSE_ERROR'],
      ['{ product(sku: "x") { id } }', 'argumentNotAccepted'],
      ['{ search(first: 1) { totalCount } }', 'missingRequiredArguments'],
      ['{ products(first: "one") { nodes { id } } }', 'argumentLiteralsIncompatible'],
      ['query Q($a: Int) { shop { name } }', 'variableNotUsed'],
      ['{ products(first: $a) { nodes { id } } }', 'variableNotDefined'],
      ['query Q($a: String) { products(first: $a) { nodes { id } } }', 'variableMismatch'],
      ['{ shop }', 'selectionMismatch'],
      ['{ shop { ...Missing } }', 'useAndDefineFragment'],
      ['{ shop { ... on Product { id } } }', 'cannotSpreadFragment'],
      ['query Q @inContext(country: XX) { shop { name } }', 'argumentLiteralsIncompatible'],
    ];
    for (const [document, code] of cases) {
      const body = await client.ask(document);
      assert.deepEqual([body.data, codesOf(body)[0]], [undefined, code], document);
    }
  });

  test('are refused for a bad id, wherever it is', async () => {
    const literal = await client.ask('query Look { nodes(ids: ["prod_1"]) { id } }');
    assert.deepEqual(literal, {
      errors: [
        {
          message: "Invalid global id 'prod_1'",
          locations: [{ line: 1, column: 26 }],
          path: ['query Look', 'nodes', 'ids'],
          extensions: { code: 'argumentLiteralsIncompatible', typeName: 'CoercionError' },
        },
      ],
    });
    const { errors } = await client.ask('query Look($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      ids: [product(1003), 'prod_1'],
    });
    assert.equal(errors[0].message, "Variable $ids of type [ID!]! was provided invalid value for 1 (Invalid global id 'prod_1')");
    assert.deepEqual([errors[0].extensions.code, errors[0].extensions.problems[0].path], ['INVALID_VARIABLE', [1]]);
    const nested = await client.ask('mutation Create($input: CartInput) { cartCreate(input: $input) { cart { id } } }', {
      input: { lines: [{ merchandiseId: '1' }] },
    });
    assert.deepEqual(nested.errors[0].extensions.problems[0].path, ['lines', 0, 'merchandiseId']);
    for (const id of ['gid://shopify/Product/', 'gid://other/Product/1', 'gid://shopify/Banana/1', '']) {
      assert.deepEqual(
        codesOf(await client.ask('query One($id: ID!) { node(id: $id) { id } }', { id })),
        ['INVALID_VARIABLE'],
        id,
      );
    }
    assert.deepEqual(codesOf(await client.ask('query One($id: ID!) { node(id: $id) { id } }', {})), ['INVALID_VARIABLE']);
  });

  test('hold no list of more than 250', async () => {
    const ids = Array.from({ length: 251 }, () => product(1003));
    const document = 'query Look($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const refused = await client.ask(document, { ids });
    assert.deepEqual(
      [codesOf(refused), refused.errors[0].message],
      [['MAX_INPUT_SIZE_EXCEEDED'], 'The input array size of 251 is greater than the maximum allowed of 250.'],
    );
    assert.equal((await client.data(document, { ids: ids.slice(1) })).nodes.length, 250);
    assert.deepEqual(codesOf(await client.ask(`{ nodes(ids: ${JSON.stringify(ids)}) { id } }`)), ['MAX_INPUT_SIZE_EXCEEDED']);
  });

  test('that are no requests are refused by HTTP', async () => {
    const send = (path, init) => fetch(`${client.url}${path}`, init).then(({ status }) => status);
    assert.equal(await send('/api/2026-04/graphql.json', {}), 404);
    assert.equal(await send('/api/2026-04/graphql.json', { method: 'POST', body: 'no' }), 400);
    assert.equal(await send('/api/2026-04/graphql.json', { method: 'POST', body: '{"variables":{}}' }), 400);
    assert.equal(await send('/api/2026-04/graphql.json', { method: 'POST', body: 'x'.repeat(1_000_001) }), 413);
    assert.equal(await send('/admin', {}), 404);
    assert.deepEqual((await client.steer('GET', '/journal')).strays, [{ method: 'GET', url: '/admin' }]);
  });

  test('say where the shop sells, and its policies', async () => {
    const { localization, shop } = await client.data(
      `query Here @inContext(country: DE, language: FR) {
        localization {
          country { isoCode } language { isoCode } availableCountries { isoCode currency { isoCode } } availableLanguages { isoCode }
        }
        shop { privacyPolicy { title url } termsOfSale { url } primaryDomain { url } }
      }`,
    );
    assert.deepEqual(
      localization.availableCountries.map(({ isoCode, currency }) => `${isoCode} ${currency.isoCode}`),
      ['US USD', 'CA CAD', 'DE EUR', 'FR EUR', 'JP JPY', 'KW KWD'],
    );
    assert.deepEqual([localization.country.isoCode, localization.language.isoCode], ['DE', 'FR']);
    assert.deepEqual(shop, {
      privacyPolicy: { title: 'Politique de confidentialité', url: 'https://storefront.example/policies/privacy-policy' },
      termsOfSale: null,
      primaryDomain: { url: 'https://storefront.example' },
    });
  });

  test('of one shop are nothing to another', async () => {
    const { url } = await client.steer('POST', '/shops', { costLimit: 0 });
    const refused = await (
      await fetch(`${url}/api/2026-04/graphql.json`, { method: 'POST', body: '{"query":"{ shop { name } }"}' })
    ).json();
    assert.deepEqual(codesOf(refused), ['MAX_COST_EXCEEDED']);
    assert.equal((await client.steer('GET', '/journal')).total, 0);
    assert.match((await client.steer('POST', '/shops', { price: 1 })).error, /there is no setting price/);
  });

  test('are remembered, with their number, but without tokens', async () => {
    await client.data(
      'query Named($id: ID!) @inContext(country: CA) { node(id: $id) { id } }',
      { id: product(1003) },
      { token: 'private' },
    );
    await client.ask('{ shop { nane } }', {}, { token: 'none', headers: { 'X-Forwarded-For': '198.51.100.1' } });
    const journal = await client.steer('GET', '/journal');
    assert.deepEqual([journal.total, journal.counts], [2, { Named: 1, '': 1 }]);
    const [named, bad] = journal.requests;
    assert.deepEqual(
      [
        named.operation,
        named.type,
        named.fields,
        named.variables,
        named.version,
        named.token,
        named.buyerIp,
        named.status,
        named.complete,
        named.cost,
        named.context,
      ],
      [
        'Named',
        'query',
        ['node'],
        { id: product(1003) },
        '2026-04',
        'private',
        '203.0.113.7',
        200,
        true,
        1,
        { country: 'CA', language: 'EN' },
      ],
    );
    assert.deepEqual([bad.token, bad.errors, bad.headers['x-forwarded-for']], ['none', ['undefinedField'], '198.51.100.1']);
    assert.ok(!JSON.stringify(journal).includes(tokens.private));
    await client.steer('DELETE', '/journal');
    assert.equal((await client.steer('GET', '/journal')).total, 0);
  });
});
