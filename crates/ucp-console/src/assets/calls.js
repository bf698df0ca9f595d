// Calls of the shop, over REST and over MCP: of this gateway as any client makes them, or of another endpoint by way of it.
import { result } from './dom.js';

const main = document.querySelector('main.playground');
const own = JSON.parse(main.dataset.operations);
const base = main.dataset.base;
const field = (id) => document.getElementById(id);
const releases = [...field('release').options].map(({ value }) => value);

/** The other endpoint whose shop is shown, as the gateway discovered it; nothing for the gateway itself. */
let other;
export const endpoint = () => other;

/** Whether the shop has an operation. */
export const offers = (name) => (other ? other.operations.includes(name) : name in own);

/** The release in whose form documents are. Those of another endpoint are rewritten by the gateway. */
export const form = () => (other ? releases[0] : field('release').value);

/** Whose carts and checkouts there are: they belong to an endpoint, to a release where callers differ by it, and to a caller. */
export const whose = () => [other?.address, field('release').value, field('caller').value, field('profile').value, field('key').value].join(' ');

/** Where the page is, which is what signatures cover. */
const here = new URL('.', location.href).href.replace(/\/$/, '');

/** Who calls, by the choice above. */
function who(release) {
  const choice = field('caller').value;
  if (choice === 'key') return { key: field('key').value };
  if (choice === 'none') return {};
  if (choice === 'signed') return { profile: `${base}/playground/profiles/${release}.json`, signed: true };
  return { profile: choice === 'profile' ? field('profile').value.trim() : choice };
}

/** The two requests of a call of this gateway. */
function requests(name, { id, body } = {}, repeat) {
  const { method, path, payload } = own[name];
  const release = field('release').value;
  const query = field('view').value === 'compact' ? '?view=compact' : '';
  const { key, profile, signed } = who(release);
  const headers = {};
  if (key !== undefined) headers.Authorization = `Bearer ${key}`;
  if (profile) headers['UCP-Agent'] = `profile="${profile}"`;
  const meta = { ...(profile && { 'ucp-agent': { profile } }), ...(repeat && { 'idempotency-key': repeat }) };
  const json = { 'Content-Type': 'application/json' };
  const args = { meta, ...(id && { id }), ...(payload && { [payload]: body ?? {} }) };
  const request = (verb, below, fields, content) => {
    const target = `/ucp/${release}${below}${query}`;
    const text = content && JSON.stringify(content);
    return { method: verb, path: target, url: (signed ? here : base) + target, headers: fields, body: content, text, signed };
  };
  const rest = path.replace('{id}', encodeURIComponent(id ?? ''));
  return {
    REST: request(method, rest, { ...(payload && json), ...headers, ...(repeat && { 'Idempotency-Key': repeat }) }, payload && (body ?? {})),
    MCP: request('POST', '/mcp', { ...json, ...headers }, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  };
}

/** Asks the gateway for something that is not UCP, which answers pages of its own alone. */
async function asking(path, body) {
  const answer = await fetch(`./playground/${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  throw Object.assign(new Error(told.content ?? `The gateway returned status ${answer.status}.`), { answer: told });
}

const NAMES = { 'content-digest': 'Content-Digest', 'signature-input': 'Signature-Input', signature: 'Signature' };

/** Has the gateway sign a request with the key of the playground. */
async function sign(request) {
  const { 'UCP-Agent': profile, ...headers } = request.headers;
  const { headers: all, base: covered } = await asking('sign', { method: request.method, path: request.path, headers, body: request.text ?? '' });
  const made = Object.entries(all).filter(([name]) => name in NAMES).map(([name, value]) => [NAMES[name], value]);
  return { ...request, headers: { ...request.headers, ...Object.fromEntries(made) }, covered };
}

/** Sends a request to this gateway, and measures it. */
async function send(side) {
  if (side.request.signed) side.request = await sign(side.request);
  const { method, path, headers, text: body } = side.request;
  const begun = performance.now();
  const answer = await fetch(`.${path}`, { method, headers, body });
  const text = await answer.text();
  const milliseconds = performance.now() - begun;
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  const document = side.name === 'MCP' ? result(json) : json;
  return { status: answer.status, id: answer.headers.get('request-id'), milliseconds, bytes: new Blob([text]).size, text, json, document, said: document };
}

/** Has the gateway send a call to the other endpoint. */
async function relay(side, name, { id, body, before } = {}, repeat) {
  const { key, profile } = who(other.release);
  const payload = body === undefined ? null : body;
  const asked = {
    address: other.address, release: other.asked, transport: side.name.toLowerCase(), operation: name,
    ...(id && { id }), payload, ...(before && { before }), ...(profile && { profile }), ...(key && { key }),
    ...(repeat && { idempotency_key: repeat }),
  };
  const told = await asking('call', asked);
  if (told.unanswered) throw new Error(told.unanswered);
  const { request, status, milliseconds, bytes, text, raw, said } = told;
  const parsed = (value) => {
    try {
      return JSON.parse(value);
    } catch {
      return value ?? undefined;
    }
  };
  side.request = { ...request, path: request.url, text: request.body ?? undefined, body: parsed(request.body) };
  const json = parsed(text);
  const isDocument = typeof json === 'object' && json !== null;
  return { status, milliseconds, bytes, text, json: isDocument ? json : undefined, document: raw ?? (side.name === 'MCP' ? result(json) : json), said };
}

/** The transports over which a call goes. A change at a shop that may not know a repetition goes over one. */
function transports(keyed) {
  if (!other) return ['REST', 'MCP'];
  const all = ['REST', 'MCP'].filter((name) => other[name.toLowerCase()]);
  return keyed && field('changes').value === 'one' ? all.slice(0, 1) : all;
}

let listener = () => {};
/** Has a function called with every call, again whenever more of it is known. */
export const follow = (told) => {
  listener = told;
};

/**
 * Carries out an operation, over the first transport and then over the other: with the same idempotency key, so that what
 * was changed once is answered again. Gives the first answer.
 */
export async function call(name, asked) {
  const { keyed } = own[name];
  const repeat = keyed ? crypto.randomUUID() : undefined;
  const prepared = other ? {} : requests(name, asked, repeat);
  const sides = transports(keyed).map((transport) => ({ name: transport, request: prepared[transport] }));
  const entry = { name, ...asked, sides, keyed, at: new Date(), business: other?.address ?? base, elsewhere: other !== undefined };
  const carry = other ? (side) => relay(side, name, asked, repeat) : send;
  const [first, second] = sides;
  try {
    first.answer = await carry(first);
  } catch (error) {
    first.failed = error.message;
    first.refusal = error.answer;
  }
  listener(entry);
  if (second) {
    carry(second).then((answer) => {
      second.answer = answer;
    }, (error) => {
      second.failed = error.message;
    }).then(() => listener(entry));
  }
  if (first.failed && !first.refusal && !entry.elsewhere) throw new Error(first.failed);
  return first.answer ? first.answer.said : (first.refusal ?? { content: `No response: ${first.failed}` });
}

/** Carries out an operation over REST alone, for what the page needs beside the shop. Gives the answer. */
export const ask = async (name, asked) => (await send({ name: 'REST', request: requests(name, asked).REST })).said;

/** Fills the list of releases. */
function list(dates, chosen) {
  field('release').replaceChildren(...dates.map((date) => new Option(date, date, false, date === chosen)));
}

/** Shows the controls that there are for an endpoint. */
function arrange() {
  const signed = field('caller').querySelector('[value=signed]');
  if (signed) {
    signed.disabled = other !== undefined;
    if (other && field('caller').value === 'signed') field('caller').selectedIndex = 0;
  }
  field('view').disabled = other !== undefined;
  if (other) field('view').value = 'full';
  field('changes-field').hidden = !(other?.rest && other?.mcp);
  field('own').hidden = other === undefined;
  field('profile-field').hidden = field('caller').value !== 'profile';
  field('key-field').hidden = field('caller').value !== 'key';
}

/** Discovers another endpoint. Its shop is shown from then on. */
export async function open(address) {
  const found = await asking('endpoint', { address });
  // A key is meant for one shop.
  field('key').value = '';
  other = found;
  list(found.releases, found.release);
  arrange();
}

/** Goes back to the shop of the gateway. */
export function close() {
  other = undefined;
  field('key').value = '';
  list(releases, releases[0]);
  arrange();
}

/** Discovers the other endpoint again, in the release that was chosen. */
export async function choose() {
  if (!other) return;
  const asked = field('release').value;
  const found = await asking('endpoint', { address: other.address, release: asked });
  other = { ...found, asked, releases: other.releases };
}

field('caller').addEventListener('change', arrange);
arrange();
