// Shopify's `ucp`, as an agent or a person calls it in a shell, and as the MCP server it can be for an agent: as it comes,
// with profiles that nobody can fetch here, and with profiles of its own that the gateway does fetch.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { freePort, run, startGateway, url } from '../lib/gateway.mjs';
import { fetching, startHost, storefront } from '../lib/host.mjs';
import { buy, giveUp, paying, purchaseTools, wanted } from '../lib/purchase.mjs';
import { detail, lookup, missing, newest, published, refused, search, tools } from '../lib/shop.mjs';

const program = '@shopify/ucp-cli/dist/bin.js';
const home = join(process.env.LANE_DIR, 'ucp-home');
const env = {
  // Its own name for: plain http on the loopback interface is fine.
  UCP_TEST_ALLOW_INSECURE_LOCALHOST: 'true',
  // Schemas that it cannot resolve are errors instead of going unchecked.
  UCP_STRICT_SCHEMA: '1',
  // A home of its own, and --refresh below: it caches profiles and tools for a minute, and ports are used again.
  UCP_HOME: home,
};

/** Runs the CLI and gives what it said and the status it ended with. */
async function ucp(...args) {
  const { code: exit, stdout, stderr } = await run(program, [...args, '--format', 'json'], { env });
  try {
    return { exit, ...JSON.parse(stdout) };
  } catch {
    assert.fail(`ucp ${args.join(' ')} ended with ${exit} and said no JSON: ${stdout}${stderr}`);
  }
}

/** The CLI as a customer of `business`, with `options` for all calls. */
const customer = (business, ...options) => (...args) => ucp(...args, '--business', business, '--refresh', ...options);

/** The answer as the gateway gave it: the CLI takes the envelope apart. */
const answerOf = ({ ucp, result }) => ({ ucp, ...result });

/** The release that the CLI settled on, and where it speaks it. */
function checkDiscovery({ exit, result }, release, endpoint) {
  assert.equal(exit, 0);
  assert.equal(result.protocol.version, release);
  const negotiated = result.negotiated['dev.ucp.shopping'];
  assert.equal(negotiated.version, release);
  assert.equal(negotiated.transport, 'mcp');
  assert.equal(negotiated.endpoint, endpoint);
  for (const name of [...tools, ...purchaseTools(release)]) assert.ok(negotiated.tools[name], name);
  for (const name of ['cart', 'catalog.lookup', 'catalog.search', 'checkout', 'order']) {
    assert.ok(result.expectedCapabilities.includes(`dev.ucp.shopping.${name}`), name);
  }
}

/** Declares the calls of the catalog, by `call`, that are answered in `release`. */
function catalog(call, release) {
  test('search', async () => {
    const answer = await call('catalog', 'search', '--input', JSON.stringify(search.request));
    assert.equal(answer.exit, 0);
    search.check(answerOf(answer), release);
  });

  test('lookup of known and unknown ids', async () => {
    const answer = await call('catalog', 'lookup', '--input', JSON.stringify(lookup.request));
    assert.equal(answer.exit, 0);
    lookup.check(answerOf(answer), release);
  });

  test('a product page with a colour chosen', async () => {
    const { id, ...input } = detail.request;
    const answer = await call('catalog', 'get_product', id, '--input', JSON.stringify(input));
    assert.equal(answer.exit, 0);
    detail.check(answerOf(answer), release);
  });

  test('a product that is not there', async () => {
    const answer = await call('catalog', 'get_product', missing.request.id);
    assert.equal(answer.exit, 0, 'an answer of the business');
    missing.check(answerOf(answer), release);
  });

  test('a call that the gateway refuses', async () => {
    const { exit, code, message } = await call('catalog', 'search', '--input', JSON.stringify(refused.request));
    assert.equal(exit, 1);
    assert.equal(code, 'MCP_RPC_ERROR');
    assert.match(message, new RegExp(refused.code));
  });
}

/** Declares the purchase, by `call`, that is answered in `release`. */
function purchase(call, release) {
  /** An operation as a command: `update_checkout` is `checkout update ID`. */
  async function command(operation, id, asked) {
    const [verb, noun] = operation.split('_');
    const answer = await call(noun, verb, ...(id ? [id] : []), ...(asked ? ['--input', JSON.stringify(asked)] : []));
    assert.ok(answer.result, JSON.stringify(answer));
    assert.equal(answer.ucp.version, release);
    return answerOf(answer);
  }

  // The CLI makes the keys itself.
  test('buys something, from a cart to the order', () => buy(command, release, { keyed: false }));
  test('gives a checkout and a cart up', () => giveUp(command, release));

  test('is told that a payment failed', async () => {
    const checkout = await command('create_checkout', undefined, wanted);
    const declined = await command('complete_checkout', checkout.id, paying(checkout, 'fail_token'));
    assert.deepEqual(declined.messages.filter(({ type }) => type === 'error').map(({ code }) => code), ['payment_failed']);
    const challenged = await command('complete_checkout', checkout.id, paying(checkout, 'challenge_token'));
    assert.equal(challenged.status, 'requires_escalation');
    assert.ok(challenged.continue_url);
  });

  test('checks what pays against our schema before it sends it', async () => {
    const { exit, code } = await call('checkout', 'complete', 'chk_1', '--input', '{"payment":{"instruments":[{"id":"i"}]}}');
    assert.deepEqual({ exit, code }, { exit: 1, code: 'SCHEMA_VALIDATION_FAILED' });
  });
}

/** The profile that the CLI says it is when nobody told it otherwise. */
const managed = (release) => `https://shopify.dev/ucp/agent-profiles/${release}/valid-with-capabilities.json`;

suite('as it comes, in front of a gateway for development', () => {
  for (const [release, options, endpoint] of [
    [newest, [], `${url}/mcp`],
    ['2026-04-08', ['--profile-url', managed('2026-04-08')], `${url}/ucp/2026-04-08/mcp`],
  ]) {
    const call = customer(url, ...options);

    suite(release, () => {
      test('discovers what the shop offers', async () => {
        const discovered = await call('discover');
        checkDiscovery(discovered, release, endpoint);
        assert.equal(discovered.result.protocol.agentProfileUrl, managed(release));
      });

      for (const [command, properties] of [
        ['search', ['query', 'filters', 'context', 'pagination']],
        ['lookup', ['ids', 'filters', 'context']],
        // The id of a product is an argument of its own in this CLI.
        ['get_product', ['selected', 'preferences', 'filters', 'context']],
      ]) {
        test(`shows what ${command} takes`, async () => {
          const { exit, result } = await call('catalog', command, '--input-schema');
          assert.equal(exit, 0);
          const schema = result.tool.inputSchema;
          for (const name of properties) assert.ok(schema.properties[name], name);
          // It is shown to an agent on its own, where a reference into the rest of the tool's schema would dangle.
          const references = [...JSON.stringify(schema).matchAll(/"\$ref":"#\/([^"]*)"/g)].map(([, path]) => path);
          for (const path of references) {
            assert.ok(path.split('/').reduce((node, key) => node?.[key], schema), `#/${path} is inside what is shown`);
          }
        });
      }

      catalog(call, release);
      purchase(call, release);

      test('search as the buyer types, in the view for people', async () => {
        const answer = await call('catalog', 'search', '--set', '/query=runner pro', '--view', 'result.products[0].title');
        assert.equal(answer.exit, 0);
        assert.match(JSON.stringify(answer), /Runner Pro/);
      });

      test('checks a call against our schema before it sends it', async () => {
        const { exit, code, message } = await call('catalog', 'lookup', '--input', '{"ids":[]}');
        assert.equal(exit, 1);
        assert.equal(code, 'SCHEMA_VALIDATION_FAILED');
        assert.match(message, /\/catalog\/ids/);
      });
    });
  }

  test('is an MCP server in front of ours', async () => {
    const client = new Client({ name: 'lane', version: '1' });
    const args = [join(process.env.CLIENTS_DIR, 'node_modules', program), '--mcp'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...process.env, ...env } }));
    try {
      const { id, ...input } = detail.request;
      const result = await client.callTool({
        name: 'catalog_get_product',
        arguments: { id, business: url, input: JSON.stringify(input), refresh: true },
      });
      assert.ok(!result.isError, JSON.stringify(result));
      // Below the answer it says what an agent could do next.
      const [answer] = result.content[0].text.split('\n\n');
      detail.check(answerOf(JSON.parse(answer)));
    } finally {
      await client.close();
    }
  });
});

suite('with its own profile, in front of a gateway that fetches it', () => {
  let host;
  let gateway;
  before(async () => {
    host = await startHost();
    gateway = await startGateway('require', fetching);
  });
  after(async () => {
    await gateway?.stop();
    await host?.stop();
  });

  /** A customer with a new profile for `release`, said to be at `address`. */
  async function profiled(name, release, address) {
    const { exit, path } = await ucp('profile', 'init', '--name', name, '--version', release, '--profile-url', address);
    assert.equal(exit, 0);
    const file = join(path, 'profile.json');
    return { call: customer(gateway.url, '--profile', name), file, document: JSON.parse(await readFile(file, 'utf8')) };
  }

  /** The same, and it is at that address, as `change` makes it. */
  async function hosted(name, release, change = (document) => document, page = {}) {
    const path = `/${name}.json`;
    const platform = await profiled(name, release, host.origin + path);
    const body = change(structuredClone(platform.document));
    // What the CLI believes of itself, and what the gateway reads.
    await writeFile(platform.file, JSON.stringify(body));
    host.put(path, { body, ...page });
    return { ...platform, path };
  }

  for (const release of published) {
    suite(release, () => {
      let platform;
      before(async () => {
        platform = await hosted(`own-${release}`, release);
        assert.equal(platform.document.ucp.version, release);
      });
      const call = (...args) => platform.call(...args);

      test('discovers what the shop offers', async () => {
        const endpoint = release === newest ? '/mcp' : `/ucp/${release}/mcp`;
        const discovered = await call('discover');
        checkDiscovery(discovered, release, gateway.url + endpoint);
        const { profile } = discovered.result;
        const [{ kty, crv, kid, d }, ...others] = profile[release === newest ? 'keys' : 'signing_keys'];
        assert.deepEqual([{ kty, crv, d }, others], [{ kty: 'EC', crv: 'P-256', d: undefined }, []], 'the public key');
        assert.ok(kid);
        assert.equal(host.visits(platform.path), 0, 'whoever only looks need not be known');
      });

      catalog(call, release);

      test('the gateway fetched the profile once', () => assert.equal(host.visits(platform.path), 1));
    });

    test(`${release}: has only the capabilities that both sides declare`, async () => {
      const { call, path } = await hosted(`no-search-${release}`, release, (document) => {
        const { 'dev.ucp.shopping.catalog.search': taken, ...capabilities } = document.ucp.capabilities;
        assert.ok(taken, 'it has it to begin with');
        return { ...document, ucp: { ...document.ucp, capabilities } };
      });
      const { result } = await call('discover');
      assert.ok(!result.expectedCapabilities.includes('dev.ucp.shopping.catalog.search'));
      const answer = await call('catalog', 'search', '--input', JSON.stringify(search.request));
      assert.equal(answer.exit, 0, 'an answer of the business');
      assert.deepEqual(answer.ucp, { version: release, status: 'error', capabilities: {} });
      const [{ type, code, content }, ...others] = answer.result.messages;
      assert.deepEqual([{ type, code }, others], [{ type: 'error', code: 'capabilities_incompatible' }, []]);
      assert.match(content, /dev\.ucp\.shopping\.catalog\.search/);
      assert.equal(answer.result.continue_url, storefront);
      // The others still work.
      lookup.check(answerOf(await call('catalog', 'lookup', '--input', JSON.stringify(lookup.request))), release);
      assert.equal(host.visits(path), 1);
    });

    test(`${release}: many calls at once cost one fetch`, async () => {
      const { call, path } = await hosted(`crowd-${release}`, release, undefined, { delay: 500 });
      const crowd = Array.from({ length: 3 }, () => call('catalog', 'search', '--input', JSON.stringify(search.request)));
      for (const answer of await Promise.all(crowd)) search.check(answerOf(answer), release);
      assert.equal(host.visits(path), 1);
    });
  }

  const searching = ({ call }) => call('catalog', 'search', '--input', JSON.stringify(search.request));

  test('is told that the endpoint does not speak the release of its profile', async () => {
    const platform = await hosted('changed', '2026-04-08');
    // The CLI still takes itself for a platform of 2026-04-08, and calls where that is spoken.
    host.put(platform.path, { body: JSON.stringify(platform.document).replaceAll('2026-04-08', '2026-08-25') });
    const { exit, code, message } = await searching(platform);
    assert.deepEqual({ exit, code }, { exit: 1, code: 'MCP_RPC_ERROR' });
    assert.match(message, /\[HTTP 422\] \(-32001\).*2026-08-25.*2026-04-08.*version_unsupported/s);
  });

  test('is told that nobody here speaks the release of its profile', async () => {
    const platform = await hosted('future', newest);
    host.put(platform.path, { body: JSON.stringify(platform.document).replaceAll(newest, '2029-09-09') });
    const { exit, code, message } = await searching(platform);
    assert.deepEqual({ exit, code }, { exit: 1, code: 'MCP_RPC_ERROR' });
    assert.match(message, /\[HTTP 422\] \(-32001\).*2029-09-09.*version_unsupported/s);
    for (const release of published) assert.ok(message.includes(release), 'it is told what would do');
  });

  for (const [what, address] of [
    ['is not there', () => `${host.origin}/nowhere.json`],
    ['is elsewhere', () => host.put('/moved.json', { status: 302, headers: { Location: '/own-2026-08-25.json' } })],
    ['is on a machine that does not answer', async () => `http://127.0.0.1:${await freePort()}/profile.json`],
    ['is on a machine that does not exist', () => 'https://agent.invalid/profile.json'],
  ]) {
    test(`is told that its profile ${what}`, async () => {
      const profile = await address();
      const platform = await profiled(what.replaceAll(' ', '-'), newest, profile);
      const { exit, code, message } = await searching(platform);
      assert.deepEqual({ exit, code }, { exit: 1, code: 'AGENT_PROFILE_UNREACHABLE' });
      assert.match(message, /business reported profile_unreachable/);
      assert.ok(message.includes(profile));
    });
  }

  test('is told that its profile cannot be read', async () => {
    const platform = await profiled('garbled', newest, host.put('/garbled.json', { body: '<!doctype html>' }));
    const { exit, code, message } = await searching(platform);
    assert.deepEqual({ exit, code }, { exit: 1, code: 'MCP_RPC_ERROR' });
    assert.match(message, /\[HTTP 422\] \(-32001\).*profile_malformed/s);
  });

  test('can look around without a profile', async () => {
    const call = customer(gateway.url, '--profile-url', 'https://agent.invalid/profile.json');
    checkDiscovery(await call('discover'), newest, `${gateway.url}/mcp`);
    const { exit, result } = await call('catalog', 'search', '--input-schema');
    assert.equal(exit, 0);
    assert.ok(result.tool.inputSchema.properties.query);
  });
});
