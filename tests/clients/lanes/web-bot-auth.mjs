// npm `web-bot-auth` of Cloudflare, which knows nothing of this gateway: bots that it signs for are known, and nobody else is.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { signatureHeaders as signWith } from 'http-message-sig';
import { generateNonce, HTTP_MESSAGE_SIGNATURES_DIRECTORY, jwkToKeyID, MediaType, signatureHeaders } from 'web-bot-auth';
import { helpers, signerFromJWK } from 'web-bot-auth/crypto';
import { startGateway } from '../lib/gateway.mjs';
import { fetching, startHost } from '../lib/host.mjs';
import { search } from '../lib/shop.mjs';

/** A key of a bot, with the name that the draft gives it. */
async function newKey() {
  const pair = await crypto.subtle.generateKey({ name: 'Ed25519' }, true, ['sign', 'verify']);
  const jwk = await crypto.subtle.exportKey('jwk', pair.privateKey);
  const published = { kty: jwk.kty, crv: jwk.crv, x: jwk.x };
  return { signer: await signerFromJWK(jwk), published, name: await jwkToKeyID(jwk, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE) };
}

/** Where a bot publishes keys. */
async function publish(...keys) {
  const host = await startHost();
  const page = { type: MediaType.HTTP_MESSAGE_SIGNATURES_DIRECTORY, body: { keys: keys.map((key) => key.published), purpose: 'shopping' } };
  host.put(HTTP_MESSAGE_SIGNATURES_DIRECTORY, page);
  host.put('/keys.json?v=1', { type: 'application/json', body: { keys: keys.map((key) => key.published) } });
  return host;
}

const seconds = (from) => new Date(Date.now() + from * 1000);
const fresh = () => ({ created: seconds(0), expires: seconds(60) });

let shop, home, elsewhere, own, second, other, stranger;

before(async () => {
  [own, second, other, stranger] = await Promise.all([newKey(), newKey(), newKey(), newKey()]);
  [home, elsewhere] = await Promise.all([publish(own, second), publish(other)]);
  shop = await startGateway(
    'bots',
    `${fetching}\n[[platform]]\nname = "Example Bot"\nsignature_agent = "${home.origin}"\n` +
      `[[platform]]\nname = "Other Bot"\nsignature_agent = "${elsewhere.origin}"\n` +
      `[[platform]]\nname = "Bot with a set"\nsignature_agent = "${home.origin}/keys.json?v=1"\n[log]\nformat = "json"\n`,
  );
});

after(async () => {
  await shop?.stop();
  await Promise.all([home?.stop(), elsewhere?.stop()]);
});

/** The header fields of a request over REST or MCP, before anybody signs it. */
const unsigned = (agent = `"${home.origin}"`) => ({
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'Signature-Agent': agent,
});

/** A request as the package signs it. */
async function signed({ path = '/catalog/search', key = own, agent, params, url = shop.url } = {}) {
  const headers = unsigned(agent);
  const message = { method: 'POST', url: `${url}${path}`, headers };
  return { ...headers, ...(await signatureHeaders(message, key.signer, { ...fresh(), ...params })) };
}

async function send(headers, path = '/catalog/search', body = search.request) {
  const response = await fetch(`${shop.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const type = response.headers.get('content-type') ?? '';
  const text = await response.text();
  return { status: response.status, told: type.includes('json') ? JSON.parse(text) : text };
}

async function accepted(headers) {
  const { status, told } = await send(headers);
  assert.equal(status, 200, JSON.stringify(told));
  search.check(told);
}

async function refused(headers, code) {
  const { status, told } = await send(headers);
  assert.deepEqual([status, told.code], [401, code], JSON.stringify(told));
  return told;
}

/** Which bots the log has named. */
async function named() {
  const log = await readFile(join(process.env.LANE_DIR, 'gateway-bots.log'), 'utf8');
  const lines = log.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  return lines.map((line) => line.agent ?? line.fields?.agent).filter(Boolean);
}

describe('a bot that the package signs for', () => {
  test('is known over REST', async () => accepted(await signed()));

  test('is known over MCP', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search_catalog', arguments: { catalog: search.request } } };
    const { status, told } = await send(await signed({ path: '/mcp' }), '/mcp', call);
    assert.equal(status, 200, JSON.stringify(told));
    search.check(told.result.structuredContent);
  });

  test('is known with any key that it publishes', async () => accepted(await signed({ key: second })));

  test('is known by the address in a dictionary, as newer drafts have it', async () => {
    const components = ['@authority', { name: 'signature-agent', parameters: new Map([['key', 'sig1']]) }];
    const agent = `sig1="${home.origin}"`;
    // The package signs the whole field under that name, and not the member.
    const message = { method: 'POST', url: `${shop.url}/catalog/search`, headers: { 'Signature-Agent': `"${home.origin}"` } };
    const options = { ...fresh(), components, key: 'sig1', signer: own.signer, keyid: own.name, nonce: generateNonce(), tag: 'web-bot-auth' };
    await accepted({ ...unsigned(agent), ...(await signWith(message, options)) });
  });

  /** A request with a member of a dictionary as `Signature-Agent`, and more that is covered. */
  const covering = async (value, more = [], path = '/catalog/search') => {
    const components = ['@authority', { name: 'signature-agent', parameters: new Map([['key', 'sig1']]) }, ...more];
    // The package signs the whole field under that name, and not the member.
    const message = { method: 'POST', url: `${shop.url}${path}`, headers: { ...unsigned(value) } };
    const options = { ...fresh(), components, key: 'sig1', signer: own.signer, keyid: own.name, nonce: generateNonce(), tag: 'web-bot-auth' };
    return { ...unsigned(`sig1=${value}`), ...(await signWith(message, options)) };
  };

  test('may say that the address is that of a directory, as a token or a string', async () => {
    await accepted(await covering(`"${home.origin}";type=directory`));
    await accepted(await covering(`"${home.origin}";type="directory"`));
  });

  test('may publish a set of keys elsewhere', async () => {
    await accepted(await covering(`"${home.origin}/keys.json?v=1";type=jwks_uri`));
    await refused(await covering(`"${home.origin}/keys.json?v=1";type=cimd`), 'signature_invalid');
  });

  test('may cover more of the request than the host', async () => {
    const more = ['@method', '@target-uri', '@scheme', '@request-target', '@path', 'content-type'];
    await accepted(await covering(`"${home.origin}"`, more));
    const elsewhere = await covering(`"${home.origin}"`, more, '/catalog/lookup');
    await refused(elsewhere, 'signature_invalid');
  });

  test('may send one signature with many requests until it expires', async () => {
    const headers = await signed();
    await accepted(headers);
    await accepted(headers);
  });

  test('is named in the log, and its keys are fetched once', async () => {
    await accepted(await signed());
    // A line is written after the answer.
    for (let attempt = 0; attempt < 100 && !(await named()).includes(home.origin); attempt += 1) await sleep(100);
    assert.ok((await named()).includes(home.origin), `the log names the bot within ten seconds: ${await named()}`);
    assert.equal(home.visits(HTTP_MESSAGE_SIGNATURES_DIRECTORY), 1);
  });

  test('is known by its key thumbprint', () => assert.equal(own.signer.keyid, own.name));
});

describe('what is spoiled', () => {
  const altered = (headers, name, change) => ({ ...headers, [name]: change(headers[name]) });
  const input = 'Signature-Input';

  test('another nonce than was signed', async () => {
    const headers = altered(await signed(), input, (value) => value.replace(/nonce="[^"]+"/, `nonce="${generateNonce()}"`));
    await refused(headers, 'signature_invalid');
  });

  test('an expired signature', async () => {
    const told = await refused(await signed({ params: { created: seconds(-900), expires: seconds(-600) } }), 'signature_invalid');
    assert.match(JSON.stringify(told), /expired/);
  });

  test('an expired signature that says it has not', async () => {
    const headers = await signed({ params: { created: seconds(-900), expires: seconds(-600) } });
    const later = Math.floor(Date.now() / 1000) + 60;
    await refused(altered(headers, input, (value) => value.replace(/expires=\d+/, `expires=${later}`)), 'signature_invalid');
  });

  test('a signature of the future', async () =>
    refused(await signed({ params: { created: seconds(900), expires: seconds(960) } }), 'signature_invalid'));

  test('a signature for longer than a day', async () =>
    refused(await signed({ params: { created: seconds(0), expires: seconds(90_000) } }), 'signature_invalid'));

  test('another tag is no bot, and nobody without a profile is served here', async () => {
    const message = { method: 'POST', url: `${shop.url}/catalog/search`, headers: unsigned() };
    const options = { ...fresh(), components: ['@authority', 'signature-agent'], signer: own.signer, keyid: own.name, tag: 'crawler' };
    const { status, told } = await send({ ...unsigned(), ...(await signWith(message, options)) });
    assert.ok(status >= 400 && status < 500, JSON.stringify(told));
  });

  test('a tag that was changed afterwards', async () => {
    const message = { method: 'POST', url: `${shop.url}/catalog/search`, headers: unsigned() };
    const options = { ...fresh(), components: ['@authority', 'signature-agent'], signer: own.signer, keyid: own.name, tag: 'crawler' };
    const headers = { ...unsigned(), ...(await signWith(message, options)) };
    await refused(altered(headers, input, (value) => value.replace('crawler', 'web-bot-auth')), 'signature_invalid');
  });

  test('a key that is not published', async () => refused(await signed({ key: stranger }), 'key_not_found'));

  test('a key under the name of another', async () => {
    const headers = altered(await signed({ key: stranger }), input, (value) => value.replace(stranger.name, own.name));
    await refused(headers, 'signature_invalid');
  });

  test('the directory of another bot', async () =>
    refused(await signed({ agent: `"${elsewhere.origin}"` }), 'key_not_found'));

  test('a directory that was changed afterwards', async () => {
    const headers = altered(await signed({ key: other }), 'Signature-Agent', () => `"${elsewhere.origin}"`);
    await refused(headers, 'signature_invalid');
  });

  test('a signature for another host', async () => refused(await signed({ url: 'http://elsewhere.example' }), 'signature_invalid'));

  test('a directory that is not covered', async () => {
    const message = { method: 'POST', url: `${shop.url}/catalog/search`, headers: {} };
    await refused({ ...unsigned(), ...(await signatureHeaders(message, own.signer, fresh())) }, 'signature_invalid');
  });

  test('a byte of the signature', async () => {
    const flip = (value) => value.replace(/:(.)/, (_, first) => `:${first === 'A' ? 'B' : 'A'}`);
    await refused(altered(await signed(), 'Signature', flip), 'signature_invalid');
  });
});
