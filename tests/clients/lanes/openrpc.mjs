// Clients generated from the OpenRPC documents: OpenRPC's own tools must understand them, and their methods are called
// directly, with positional or named parameters, no MCP around them.
import schemaUtils from '@open-rpc/schema-utils-js';
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { leafUrl, meta, url } from '../lib/gateway.mjs';
import { buy, purchaseTools } from '../lib/purchase.mjs';
import { calls, missing, newest, published, refused, releases, search, tools } from '../lib/shop.mjs';

/** Calls as the generated TypeScript client does. */
async function callAt(base, method, params) {
  const response = await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: '*/*' },
    body: JSON.stringify({ jsonrpc: '2.0', id: '0', method, params }),
  });
  const answer = await response.json();
  assert.equal(answer.jsonrpc, '2.0');
  assert.equal(answer.id, '0');
  return answer;
}

for (const [name, base, release] of [['the root', url, newest], ...releases.map((release) => [release, leafUrl(release), release])]) {
  suite(`the document of ${name}`, () => {
    const isPublished = published.includes(release);
    const call = (method, params) => callAt(base, method, params);
    let document;
    before(async () => {
      document = await (await fetch(`${base}/openrpc.json`)).json();
    });

    test('is a valid OpenRPC document that needs no other file', async () => {
      const parsed = await schemaUtils.parseOpenRPCDocument(structuredClone(document), { validate: true, dereference: true });
      assert.equal(parsed.openrpc, '1.3.2');
      assert.equal(parsed.info.version, release);
      assert.equal(parsed.servers[0].url, `${base}/mcp`);
      const names = parsed.methods.map(({ name }) => name);
      for (const name of [...(isPublished ? tools : []), ...purchaseTools(release)]) assert.ok(names.includes(name), name);
      assert.equal(names.includes('create_cart'), isPublished, 'carts came later');
      assert.ok(!JSON.stringify(document).match(/"\$ref":"[^#]/), 'every reference stays inside');
    });

    // Each step is a method of its own: by name, and in the oldest releases with everything flat in the parameters.
    test('a purchase by its methods', () =>
      buy(async (method, id, asked, key) => {
        const payload = asked ? { [method.split('_')[1]]: asked } : {};
        const params = isPublished
          ? { meta: { ...meta, ...(key ? { 'idempotency-key': key } : {}) }, ...payload }
          : { _meta: { ucp: meta['ucp-agent'] }, ...(key ? { idempotency_key: key } : {}), ...asked };
        const { result, error } = await call(method, { ...params, ...(id ? { id } : {}) });
        assert.ok(result, JSON.stringify(error));
        return result;
      }, release));

    test('is what rpc.discover gives', async () => {
      assert.deepEqual((await call('rpc.discover', [])).result, document);
    });

    if (isPublished) {
      test('takes the calls that the gateway takes', async () => {
        const parsed = await schemaUtils.dereferenceDocument(structuredClone(document));
        const validator = new schemaUtils.MethodCallValidator(parsed);
        for (const [method, { request }] of calls) assert.deepEqual(validator.validate(method, [meta, request]), []);
        assert.notDeepEqual(validator.validate('lookup_catalog', [meta, { ids: 'prod_abc123' }]), []);
      });
    }

    const forms = [
      ['positional', (catalog) => [meta, catalog], (catalog) => [{}, catalog]],
      ['named', (catalog) => ({ meta, catalog }), (catalog) => ({ catalog })],
    ];
    // What the founding documents have instead of a generated client: the payload itself, and who calls in `_meta`.
    if (!isPublished) {
      forms.push(['founding', (catalog) => ({ ...catalog, _meta: { ucp: meta['ucp-agent'] } }), (catalog) => catalog]);
    }

    for (const [kind, params, anonymous] of forms) {
      suite(`${kind} parameters`, () => {
        for (const [method, { request, check }] of calls) {
          test(`${method} ${JSON.stringify(request)}`, async () => {
            const { result, error } = await call(method, params(request));
            if (request === missing.request && !isPublished) return missing.checkError(error);
            check(result, release);
          });
        }

        test('a refused call', async () => {
          const { error } = await call('search_catalog', params(refused.request));
          assert.equal(error.code, -32602);
          assert.equal(error.data.code, refused.code);
          const listed = isPublished ? undefined : [refused.code];
          assert.deepEqual(error.data.errors?.map(({ code }) => code), listed, 'as older releases list them');
        });

        test('nobody in particular', async () => {
          const { result, error } = await call('search_catalog', anonymous(search.request));
          assert.ok(result, JSON.stringify(error));
          search.check(result, release);
        });
      });
    }

    test('a method that is not there', async () => {
      assert.equal((await call('buy_everything', [])).error.code, -32601);
    });

    test('too few and too many parameters', async () => {
      assert.equal((await call('search_catalog', [meta])).error.code, -32602);
      assert.equal((await call('search_catalog', [meta, { query: 'runner' }, {}])).error.code, -32602);
    });
  });
}
