// Calls as they happened: a list that grows by itself, and what happened on the way of one of them.
import { colored, count, differences, h, time } from './dom.js';

const list = document.getElementById('list');
const detail = document.getElementById('detail');
const field = (id) => document.getElementById(id);
const filters = ['id', 'platform', 'operation', 'outcome'];

/** Most calls in the list. */
const MOST = 200;
let calls = [];
let stream;
let shown;

/** Says something to screen readers. */
const say = (text) => {
  field('status').textContent = text;
};

const query = () => new URLSearchParams(filters.map((id) => [id, field(id).value.trim()]).filter(([, value]) => value));
const failed = ({ outcome }) => outcome !== 'ok';
const clock = (at) => new Date(at).toLocaleTimeString('en-GB', { hour12: false });

/** Name of a platform as people know it. */
function who({ platform, profile, agent }) {
  if (platform) return platform;
  const address = profile ?? agent;
  try {
    return address ? new URL(address).host : 'nobody known';
  } catch {
    return address;
  }
}

function row(call) {
  const { id, at, transport, operation, method, path, status, outcome, ms, skipped } = call;
  return h('li', {},
    skipped && h('p', { class: 'quiet' }, `${count(skipped)} calls before this one were too many at once, and are not here.`),
    h('a', { href: `#${encodeURIComponent(id)}`, 'aria-current': shown === id && 'true' },
      h('span', { class: `status s${String(status ?? 5)[0]}` }, status ? String(status) : 'gone'),
      h('span', { class: 'what' }, h('strong', {}, operation ?? `${method} ${path}`), h('small', {}, failed(call) && h('b', {}, `${outcome} · `), `${transport.toUpperCase()} · ${who(call)}`)),
      h('span', { class: 'amount' }, time(ms), h('small', {}, clock(at)))));
}

function draw() {
  if (calls.length === 0) {
    const playground = document.querySelector('.top a[href$="playground"]');
    list.replaceChildren(h('p', { class: 'quiet' }, 'No matching calls yet. ', playground && ['Buy something in the ', h('a', { href: 'playground' }, 'playground'), ', or send'], !playground && 'Send', ' a call from a terminal.'));
    return;
  }
  list.replaceChildren(h('ol', { class: 'rows' }, calls.map(row)));
}

/** Asks for the calls that the filters let through, and follows those that come. */
async function load() {
  stream?.close();
  const wanted = query();
  const answer = await fetch(`inspector/calls?${wanted}`);
  calls = await answer.json();
  draw();
  say(`${calls.length} calls`);
  if (!field('live').checked) return;
  stream = new EventSource(`inspector/live?${wanted}`);
  stream.addEventListener('message', ({ data }) => {
    calls = [JSON.parse(data), ...calls].slice(0, MOST);
    const focused = list.contains(document.activeElement) && document.activeElement.getAttribute('href');
    draw();
    if (focused) [...list.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
  });
  // What was missed is in the ring.
  stream.addEventListener('missed', () => guarded(load));
}

/** One thing that happened, drawn on the time that the call took. */
function step({ kind, after, ms, detail: text }, total) {
  const share = (value) => Math.min(100, (100 * value) / Math.max(total, 0.001));
  const [from, to] = [share(after), share(after + (ms ?? 0))];
  // A picture, because a policy that allows no inline styles allows no widths of elements either.
  const bar = picture('svg', { class: `bar ${kind}`, viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    picture('rect', { x: Math.min(from, 99.2), y: 1, width: Math.max(to - from, 0.8), height: 6, rx: 0.4 }));
  const name = kind === 'stage' ? text : kind.replaceAll('_', ' ');
  return h('tr', { class: ms === undefined ? 'note-row' : '' },
    h('th', { scope: 'row' }, name),
    h('td', { class: 'amount' }, `+${after.toFixed(2)}`),
    h('td', { class: 'amount' }, ms === undefined ? '' : ms.toFixed(2)),
    h('td', { class: 'on-time' }, bar, kind !== 'stage' && h('span', {}, text)));
}

function picture(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const fact = (name, value) => value !== undefined && value !== null && value !== '' && h('div', {}, h('dt', {}, name), h('dd', {}, value));

function body(title, bytes, value) {
  const text = value === null
    ? h('p', { class: 'quiet' }, bytes > 0 ? `${count(bytes)} bytes, which were not kept` : 'no body')
    : h('pre', { tabindex: '0', class: 'answer' }, colored(value));
  return h('section', { class: 'side', 'aria-label': title }, h('h3', {}, title, h('span', { class: 'quiet' }, `${count(bytes)} B`)), text);
}

/** Facts of a call that are compared, and what they are called. */
const compared = { operation: 'Operation', transport: 'Transport', release: 'UCP version', outcome: 'Outcome', status: 'Status', cache: 'Cache', idempotency: 'Idempotency' };

/** A choice of another call, and where that one differs. */
function comparison(call) {
  const others = calls.filter(({ id }) => id !== call.id);
  const told = h('div', { role: 'status' });
  const row = (name, one, other) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, one), h('td', {}, other));
  const show = async (id) => {
    if (!id) {
      told.replaceChildren();
      return;
    }
    const answer = await fetch(`inspector/calls/${encodeURIComponent(id)}`);
    if (!answer.ok) throw new Error('the call is no longer recorded');
    const other = await answer.json();
    const facts = Object.entries(compared).filter(([name]) => call[name] !== other[name]);
    const document = (title, one, two) => {
      const paths = differences(one, two);
      return h('p', { class: `verdict ${paths.length ? 'other' : 'same'}` }, paths.length ? `${title}: differs at ${paths.slice(0, 12).join(', ')}${paths.length > 12 ? ` and ${paths.length - 12} more` : ''}` : `${title}: no difference`);
    };
    // Over MCP the request and the answer are wrapped.
    const asked = ({ request, transport }) => (transport === 'mcp' ? plain(request?.params?.arguments) : request);
    const answered = ({ answer: body, transport }) => (transport === 'mcp' ? body?.result?.structuredContent ?? body?.error?.data : body);
    told.replaceChildren(
      h('table', { class: 'measured' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'What'), h('th', { scope: 'col' }, 'This call'), h('th', { scope: 'col' }, 'The other'))),
        h('tbody', {}, facts.map(([name, title]) => row(title, String(call[name] ?? '–'), String(other[name] ?? '–'))), row('Time', time(call.ms), time(other.ms)), row('Bytes', count(call.bytes_out), count(other.bytes_out)))),
      document('Request', asked(call), asked(other)),
      document('Answer', answered(call), answered(other)));
  };
  const choice = h('select', { onchange: ({ target }) => show(target.value).catch((error) => told.replaceChildren(h('p', { class: 'note alarm' }, error.message))) },
    h('option', { value: '' }, 'no other call'),
    others.map(({ id, at, operation, method, path, transport, release }) => h('option', { value: id }, `${clock(at)} ${operation ?? `${method} ${path}`} ${transport.toUpperCase()} ${release ?? ''}`)));
  return [h('p', {}, h('label', {}, 'Compare with ', choice)), told];
}

/** Arguments of a tool without what REST says in headers: the body that REST would have. */
function plain(args) {
  const { meta, id, ...rest } = args ?? {};
  const members = Object.values(rest);
  return members.length === 1 && members[0] && typeof members[0] === 'object' ? members[0] : members.length ? rest : null;
}

/** The webhooks that a call led to, as they stand. */
async function webhooks({ id, about }) {
  if (!about) return;
  const answer = await fetch(`inspector/calls/${encodeURIComponent(id)}/webhooks`);
  const events = answer.ok ? await answer.json() : [];
  if (events.length === 0) return;
  const cell = (text) => h('td', {}, String(text ?? ''));
  document.getElementById('webhooks')?.replaceChildren(
    h('h3', {}, 'Webhooks sent'),
    h('table', { class: 'measured' },
      h('thead', {}, h('tr', {}, ['Event', 'State', 'Attempts', 'Problem'].map((title) => h('th', { scope: 'col' }, title)))),
      h('tbody', {}, events.map(({ id: event, state, attempts, problem }) => h('tr', {}, h('th', { scope: 'row' }, h('code', {}, event)), cell(state), cell(attempts), cell(problem))))));
}

/** Shows a call as a whole. */
async function open(id) {
  const answer = await fetch(`inspector/calls/${encodeURIComponent(id)}`);
  if (!answer.ok) {
    detail.replaceChildren(h('p', { class: 'note' }, 'This call is no longer recorded. The inspector keeps the latest calls, and deletes those of erased carts, checkouts and orders.'));
    return;
  }
  const call = await answer.json();
  detail.replaceChildren(...[
    h('div', { class: 'heading' }, h('h2', { tabindex: '-1' }, call.operation ?? `${call.method} ${call.path}`),
      h('span', { class: `tag ${failed(call) ? 'failed' : 'completed'}` }, call.outcome.replaceAll('_', ' '))),
    h('dl', { class: 'facts' },
      fact('Request', h('code', {}, call.id)),
      fact('Who', call.profile ? [who(call), ' ', h('code', {}, call.profile)] : who(call)),
      fact('Call', h('code', {}, `${call.method} ${call.path}`)),
      fact('Transport', call.transport.toUpperCase()),
      fact('UCP version', call.release),
      fact('Answer', `${call.status ?? 'none: the caller has gone'}, ${time(call.ms)}`),
      fact('Cache', call.cache),
      fact('Idempotency', call.idempotency),
      fact('About', call.about && h('code', {}, call.about.join(' ')))),
    h('h3', { id: 'way' }, 'On its way'),
    h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': 'way' },
      h('table', { class: 'way' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'What'), h('th', { scope: 'col', class: 'amount' }, 'At ms'), h('th', { scope: 'col', class: 'amount' }, 'Took ms'), h('th', { scope: 'col' }, 'Detail'))),
        h('tbody', {}, call.way.map((happened) => step(happened, call.ms))))),
    h('div', { id: 'webhooks' }),
    comparison(call),
    call.omitted && h('p', { class: 'quiet' }, `${count(call.omitted)} more were not kept.`),
    h('p', { class: 'quiet' }, 'Masked: personal data of buyers, links to their pages, and payment data. ', h('a', { href: `inspector/calls/${encodeURIComponent(call.id)}/report`, download: 'ucp-call.json' }, 'Save it for a report')),
    h('div', { class: 'sides' }, body('Request', call.bytes_in, call.request), body('Answer', call.bytes_out, call.answer)),
  ].flat().filter((part) => part));
  await webhooks(call);
}

async function route() {
  const id = decodeURIComponent(location.hash.slice(1));
  shown = id || undefined;
  draw();
  if (!shown) return;
  await open(shown);
  detail.querySelector('h2')?.focus({ preventScroll: true });
}

/** Does something, and shows what goes wrong on the way. */
const guarded = (work) => Promise.resolve().then(work).catch((error) => list.replaceChildren(h('p', { class: 'note alarm', role: 'alert' }, `The gateway cannot be reached: ${error.message}`)));

let typing;
for (const id of filters) {
  field(id).addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => guarded(load), 150);
  });
}
field('filters').addEventListener('submit', (event) => event.preventDefault());
field('live').addEventListener('change', () => guarded(load));
addEventListener('hashchange', () => guarded(route));
guarded(async () => {
  await load();
  await route();
});
