// The reference of the API: leaves what the chosen release has, and carries out the examples over REST and MCP.
import { colored, differences, h, result, time } from './dom.js';

const main = document.getElementById('main');
const field = (id) => document.getElementById(id);
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Hides what the chosen release does not have. */
function narrow() {
  const release = field('release').value;
  for (const element of document.querySelectorAll('[data-releases]')) {
    element.hidden = release !== '' && !element.dataset.releases.split(' ').includes(release);
  }
  for (const heading of document.querySelectorAll('h2.group')) {
    const first = heading.nextElementSibling;
    if (!first?.matches('section.operation')) continue;
    let next = first;
    while (next?.matches('section.operation') && next.hidden) next = next.nextElementSibling;
    heading.hidden = !next?.matches('section.operation');
  }
  for (const section of document.querySelectorAll('[data-operation]')) {
    const body = section.querySelector('.body');
    const examples = JSON.parse(section.dataset.examples);
    const example = examples[release] ?? Object.values(examples)[0];
    if (body) body.value = JSON.stringify(example, null, 2);
    write(section);
  }
}

/** The two requests of an example. `key` is what makes a repetition safe. */
function requests(section, key) {
  const { name, method, path, payload, keyed } = JSON.parse(section.dataset.operation);
  const release = field('release').value;
  const below = release && `/ucp/${release}`;
  const secret = field('key').value;
  const profile = field('profile').value;
  const id = section.querySelector('.id')?.value || (path.includes('{id}') ? 'ID' : undefined);
  const text = section.querySelector('.body')?.value;
  const body = text === undefined ? undefined : JSON.parse(text);
  const who = secret ? { Authorization: `Bearer ${secret}` } : { 'UCP-Agent': `profile="${profile}"` };
  const json = { 'Content-Type': 'application/json' };
  const meta = { ...(!secret && { 'ucp-agent': { profile } }), ...(keyed && { 'idempotency-key': key }) };
  const args = { meta, ...(id && { id }), ...(body && { [payload]: body }) };
  return {
    rest: {
      method, path: below + path.replace('{id}', encodeURIComponent(id ?? '')),
      headers: { ...(body && json), ...(keyed && { 'Idempotency-Key': key }), ...who }, body,
    },
    mcp: { method: 'POST', path: `${below}/mcp`, headers: { ...json, ...who }, body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } } },
  };
}

const KEY = '$(uuidgen)';

function curl({ method, path, headers, body }) {
  const lines = [`curl -s -X ${method} ${quoted(main.dataset.base + path)}`];
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'Authorization') lines.push('-H "Authorization: Bearer $UCP_API_KEY"');
    else lines.push(value === KEY ? `-H "${name}: ${KEY}"` : `-H ${quoted(`${name}: ${value}`)}`);
  }
  // What the shell is to make stands outside of the quotes.
  if (body) lines.push(`-d ${quoted(JSON.stringify(body)).replace(KEY, `'${KEY}'`)}`);
  return lines.join(' \\\n  ');
}

/** Writes the commands of an example anew. Returns what is wrong with its body. */
function write(section) {
  const body = section.querySelector('.body');
  try {
    const { rest, mcp } = requests(section, KEY);
    const [one, other] = section.querySelectorAll('.code code');
    one.textContent = curl(rest);
    other.textContent = curl(mcp);
    body?.removeAttribute('aria-invalid');
    return undefined;
  } catch (error) {
    body?.setAttribute('aria-invalid', 'true');
    return error.message;
  }
}

async function send({ method, path, headers, body }) {
  const begun = performance.now();
  const answer = await fetch(`..${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  const milliseconds = performance.now() - begun;
  try {
    return { status: answer.status, milliseconds, json: JSON.parse(text) };
  } catch {
    return { status: answer.status, milliseconds, json: text };
  }
}

/** Fills in the identifiers that an answer tells, where others need them. */
function remember(path, answer) {
  const kind = path.split('/')[1];
  const ids = { [kind]: answer?.id ?? answer?.merchants?.[0]?.id, orders: answer?.order?.id };
  for (const section of document.querySelectorAll('[data-operation]')) {
    const own = JSON.parse(section.dataset.operation).path.split('/')[1];
    const input = section.querySelector('.id');
    if (!input || !ids[own]) continue;
    input.value = ids[own];
    write(section);
  }
}

async function run(section) {
  const ran = section.querySelector('.ran');
  const problem = write(section);
  if (problem) {
    ran.replaceChildren(h('p', { class: 'note alarm', role: 'alert' }, `The body must be JSON: ${problem}`));
    return;
  }
  const { rest, mcp } = requests(section, crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`);
  const one = await send(rest);
  const other = await send(mcp);
  const differ = differences(one.json, result(other.json));
  const status = (name, { status: code, milliseconds }) => [h('strong', {}, name), ' ', h('span', { class: `status s${String(code)[0]}` }, String(code)), ` ${time(milliseconds)} `];
  ran.replaceChildren(
    h('p', {}, status('REST', one), status('MCP', other)),
    h('p', { class: `verdict ${differ.length ? 'other' : 'same'}` }, differ.length ? `The responses differ at ${differ.slice(0, 4).join(', ')}` : 'Both responses are equal'),
    h('pre', { tabindex: '0', class: 'answer' }, colored(one.json)));
  field('status').textContent = `${one.status} over REST, ${other.status} over MCP`;
  if (one.status < 400) remember(JSON.parse(section.dataset.operation).path, one.json);
}

/** Opens the type that the address names. */
function open() {
  const named = location.hash === '' ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named?.matches('details')) named.open = true;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('.run');
  if (!button) return;
  const section = button.closest('section');
  run(section).catch((error) => section.querySelector('.ran').replaceChildren(h('p', { class: 'note alarm', role: 'alert' }, `The gateway cannot be reached: ${error.message}`)));
});
main.addEventListener('input', (event) => write(event.target.closest('section')));
field('release').addEventListener('change', narrow);
for (const id of ['profile', 'key']) field(id).addEventListener('input', () => document.querySelectorAll('[data-operation]').forEach(write));
field('controls').addEventListener('submit', (event) => event.preventDefault());
addEventListener('hashchange', open);
// A browser keeps what was in the fields when it goes back.
narrow();
open();
