// Calls of the gateway, each on REST and on MCP, and what of them went over the wire.
import { copy } from './copy.js';
import { colored, count, differences, h, result, time } from './dom.js';

const main = document.querySelector('main.playground');
export const operations = JSON.parse(main.dataset.operations);
const base = main.dataset.base;
const field = (id) => document.getElementById(id);

/** How calls are made. */
const settings = () => ({
  release: field('release').value,
  view: field('view').value,
  caller: field('caller').value,
  key: field('key').value,
});
export const currentRelease = () => field('release').value;

/** Calls so far, the newest first. */
const history = [];
const MOST = 40;
let shown;

/** The two requests of a call. */
function requests(name, { id, body } = {}) {
  const { method, path, payload, keyed } = operations[name];
  const { release, view, caller, key } = settings();
  const query = view === 'compact' ? '?view=compact' : '';
  const headers = {};
  if (caller === 'key') headers.Authorization = `Bearer ${key}`;
  else if (caller !== 'none') headers['UCP-Agent'] = `profile="${caller}"`;
  const meta = caller.startsWith('https:') ? { 'ucp-agent': { profile: caller } } : {};
  const repeat = keyed ? crypto.randomUUID() : undefined;
  if (repeat) meta['idempotency-key'] = repeat;
  const json = { 'Content-Type': 'application/json' };
  const args = { meta, ...(id && { id }), ...(payload && { [payload]: body ?? {} }) };
  return {
    rest: {
      method,
      path: `/ucp/${release}${path.replace('{id}', encodeURIComponent(id ?? ''))}${query}`,
      headers: { ...(payload && json), ...headers, ...(repeat && { 'Idempotency-Key': repeat }) },
      body: payload && (body ?? {}),
    },
    mcp: {
      method: 'POST',
      path: `/ucp/${release}/mcp${query}`,
      headers: { ...json, ...headers },
      body: { jsonrpc: '2.0', id: history.length + 1, method: 'tools/call', params: { name, arguments: args } },
    },
  };
}

/** Sends a request, and measures it. */
async function send({ method, path, headers, body }) {
  const begun = performance.now();
  const answer = await fetch(`.${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  const milliseconds = performance.now() - begun;
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: answer.status, id: answer.headers.get('request-id'), milliseconds, bytes: new Blob([text]).size, json, text };
}

/**
 * Carries out an operation over REST, then over MCP: with the same idempotency key, so that what was changed once is
 * answered again. Gives the answer over REST.
 */
export async function call(name, asked) {
  const call = { name, ...asked, requests: requests(name, asked), at: new Date() };
  call.rest = await send(call.requests.rest);
  history.unshift(call);
  history.length = Math.min(history.length, MOST);
  shown = call;
  draw();
  send(call.requests.mcp).then((mcp) => {
    call.mcp = mcp;
  }, (error) => {
    call.failed = error.message;
  }).then(() => {
    if (shown === call) draw();
  });
  return call.rest.json;
}

/** Carries out an operation over REST alone, for what the page needs beside the shop. Gives the answer. */
export const ask = async (name, asked) => (await send(requests(name, asked).rest)).json;

/** Bytes of a model's context for each token, by which tokens are estimated. */
const BYTES_PER_TOKEN = 4;
const tokens = (bytes) => `≈ ${count(Math.round(bytes / BYTES_PER_TOKEN))}`;

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const secretly = (headers, secret) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, name === 'Authorization' ? `Bearer ${secret}` : value]));

/** A call as text to copy, by form. */
const forms = {
  curl: ({ requests: { rest } }) => curl(rest),
  'curl, MCP': ({ requests: { mcp } }) => curl(mcp),
  'ucp-cli': ({ name, id, body }) => {
    const group = name.endsWith('catalog') || name === 'get_product' ? 'catalog' : name.split('_').at(-1);
    const verb = name === 'get_product' ? name : name.split('_')[0];
    const input = { ...body };
    const subject = id ?? (name === 'get_product' ? input.id : undefined);
    if (name === 'get_product') delete input.id;
    const words = ['npx @shopify/ucp-cli', group, verb, ...(subject ? [subject] : []), `\\\n  --business ${base}`];
    return [...words, ...(body ? [`--input ${quoted(JSON.stringify(input))}`] : [])].join(' ');
  },
  TypeScript: ({ requests: { rest } }) => {
    const init = { method: rest.method, headers: secretly(rest.headers, 'YOUR-KEY') };
    const head = JSON.stringify(init, null, 2).slice(0, -2);
    const body = rest.body ? `,\n  "body": JSON.stringify(${indented(rest.body)})` : '';
    return `const answer = await fetch(${JSON.stringify(base + rest.path)}, ${head}${body}\n});\nconsole.log(await answer.json());`;
  },
  Python: ({ requests: { rest } }) => {
    const headers = JSON.stringify(secretly(rest.headers, 'YOUR-KEY'), null, 4).replace(/\n}$/, '\n    }').replaceAll('\n    "', '\n        "');
    const body = rest.body ? `,\n    json=${python(rest.body)}` : '';
    return `import httpx\n\nanswer = httpx.request(\n    "${rest.method}",\n    ${JSON.stringify(base + rest.path)},\n    headers=${headers}${body},\n)\nprint(answer.json())`;
  },
};

const indented = (value) => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ');

/** A value as Python writes it. */
function python(value) {
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (value && typeof value === 'object') {
    return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${python(member)}`).join(', ')}}`;
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? 'None' : JSON.stringify(value);
}

function curl({ method, path, headers, body }) {
  const lines = [`curl -s -X ${method} ${quoted(base + path)}`];
  for (const [name, value] of Object.entries(headers)) {
    // A shell that knows the key puts it in.
    lines.push(name === 'Authorization' ? '-H "Authorization: Bearer $UCP_API_KEY"' : `-H ${quoted(`${name}: ${value}`)}`);
  }
  if (body) lines.push(`-d ${quoted(JSON.stringify(body))}`);
  return lines.join(' \\\n  ');
}

let form = 'curl';

/** One transport: what was asked, and what was answered. */
function side(name, request, answer, failed) {
  const head = `${request.method} ${request.path}`;
  const headers = Object.entries(secretly(request.headers, '•••')).map(([key, value]) => `${key}: ${value}`);
  const text = [head, ...headers].join('\n');
  return h('section', { class: 'side', 'aria-label': name },
    h('h3', {}, name, h('span', { class: answer ? `status s${String(answer.status)[0]}` : 'status' }, answer ? String(answer.status) : failed ? 'none' : '…')),
    h('h4', {}, 'Request'),
    h('pre', { tabindex: '0', class: 'request' }, h('code', {}, h('span', { class: 'line' }, text), request.body ? '\n\n' : ''), request.body && colored(request.body)),
    h('h4', {}, 'Answer'),
    h('pre', { tabindex: '0', class: 'answer' }, answer ? colored(answer.json ?? answer.text) : h('code', {}, failed ?? 'under way')));
}

/** Whether both transports gave the same. */
function verdict({ rest, mcp, failed }) {
  if (failed) return h('p', { class: 'verdict other' }, `There is no answer over MCP: ${failed}`);
  if (!mcp) return h('p', { class: 'verdict' }, 'MCP is under way …');
  const told = result(mcp.json);
  if (rest.json === undefined || told === undefined) {
    return h('p', { class: 'verdict other' }, 'The answers cannot be compared: not both can be read');
  }
  const differ = differences(rest.json, told);
  if (differ.length === 0) return h('p', { class: 'verdict same' }, 'Difference between the answers: none');
  const some = differ.slice(0, 4).join(', ');
  return h('p', { class: 'verdict other' }, `The answers differ at ${some}${differ.length > 4 ? ` and ${differ.length - 4} more` : ''}`);
}

/** Draws the call that is shown. */
function draw() {
  const select = field('history');
  select.replaceChildren(...history.map((call, place) =>
    h('option', { value: String(place), selected: call === shown }, `${call.name} · ${call.at.toLocaleTimeString('en-GB')}`)));
  const { rest, mcp } = shown;
  const row = (name, one, other) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, one), h('td', {}, other));
  const measured = (read) => [read(rest), mcp ? read(mcp) : shown.failed ? '–' : '…'];
  const copied = h('pre', { tabindex: '0' }, h('code', {}, forms[form](shown)));
  const choice = h('select', {
    id: 'form',
    onchange: (event) => {
      form = event.target.value;
      copied.firstChild.textContent = forms[form](shown);
    },
  }, Object.keys(forms).map((name) => h('option', { value: name, selected: name === form }, name)));
  field('view-wire').replaceChildren(
    h('table', { class: 'measured' },
      h('caption', { class: 'hidden' }, 'The call on both transports'),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, shown.name), h('th', { scope: 'col' }, 'REST'), h('th', { scope: 'col' }, 'MCP'))),
      h('tbody', {},
        row('Status', ...measured(({ status }) => String(status))),
        row('Time', ...measured(({ milliseconds }) => time(milliseconds))),
        row('Bytes', ...measured(({ bytes }) => count(bytes))),
        row('Tokens', ...measured(({ bytes }) => tokens(bytes))))),
    verdict(shown),
    h('div', { class: 'sides' }, side('REST', shown.requests.rest, rest), side('MCP', shown.requests.mcp, mcp, shown.failed)),
    h('figure', { class: 'code' },
      h('figcaption', {},
        h('label', {}, 'Copy as ', choice),
        h('button', { type: 'button', class: 'copy', onclick: (event) => copy(event.currentTarget, copied.textContent) }, 'Copy', h('span', { class: 'hidden' }, ' the call'))),
      copied));
}

field('history').addEventListener('change', (event) => {
  shown = history[Number(event.target.value)];
  draw();
});
field('caller').addEventListener('change', () => {
  field('key-field').hidden = field('caller').value !== 'key';
});
