// What of the calls went over the wire, each transport beside the other.
import { follow } from './calls.js';
import { copies, secretly } from './copies.js';
import { copy } from './copy.js';
import { colored, count, differences, h, time } from './dom.js';

const field = (id) => document.getElementById(id);

/** Calls so far, the newest first. */
const history = [];
const MOST = 40;
let shown;

follow((entry) => {
  if (!history.includes(entry)) {
    history.unshift(entry);
    history.length = Math.min(history.length, MOST);
    shown = entry;
  }
  if (shown === entry) draw();
});

/** Bytes of a model's context for each token, by which tokens are estimated. */
const BYTES_PER_TOKEN = 4;
const tokens = (bytes) => `≈ ${count(Math.round(bytes / BYTES_PER_TOKEN))}`;

let form = 'curl';

/** One transport: what was asked, and what was answered. */
function drawn({ name, request, answer, failed }) {
  const headers = Object.entries(secretly(request?.headers ?? {}, '•••')).map(([key, value]) => `${key}: ${value}`);
  const text = [request ? `${request.method} ${request.path}` : 'under way', ...headers].join('\n');
  const body = request?.body;
  return h('section', { class: 'side', 'aria-label': name },
    h('h3', {}, name, h('span', { class: answer ? `status s${String(answer.status)[0]}` : 'status' }, answer ? String(answer.status) : failed ? 'none' : '…')),
    h('h4', {}, 'Request'),
    h('pre', { tabindex: '0', class: 'request' }, h('code', {}, h('span', { class: 'line' }, text), body ? '\n\n' : ''), body && colored(body)),
    request?.covered && h('details', {}, h('summary', {}, 'Signed components'), h('pre', { tabindex: '0' }, h('code', {}, h('span', { class: 'line' }, request.covered)))),
    h('h4', {}, 'Answer'),
    h('pre', { tabindex: '0', class: 'answer' }, answer ? colored(answer.json ?? answer.text) : h('code', {}, failed ?? 'under way')));
}

/** Whether both transports gave the same. */
function verdict({ sides, keyed, elsewhere }) {
  const [first, second] = sides;
  const other = (text) => h('p', { class: 'verdict other' }, text);
  const lost = sides.find(({ failed }) => failed);
  if (lost) return other(`No response over ${lost.name}: ${lost.failed}`);
  if (!second) {
    const why = keyed && elsewhere ? 'changes of another shop go over one, unless you choose both' : 'the endpoint has no other';
    return h('p', { class: 'verdict' }, `Over ${first.name} alone: ${why}`);
  }
  if (!second.answer) return h('p', { class: 'verdict' }, `${second.name} is under way …`);
  if (first.answer.document === undefined || second.answer.document === undefined) {
    return other('The responses cannot be compared: one of them cannot be read');
  }
  const differ = differences(first.answer.document, second.answer.document);
  if (differ.length === 0) return h('p', { class: 'verdict same' }, 'No difference between the responses');
  const some = differ.slice(0, 4).join(', ');
  return other(`The responses differ at ${some}${differ.length > 4 ? ` and ${differ.length - 4} more` : ''}`);
}

/** Draws the call that is shown. */
function draw() {
  field('history').replaceChildren(...history.map((entry, place) =>
    h('option', { value: String(place), selected: entry === shown }, `${entry.name} · ${entry.at.toLocaleTimeString('en-GB')}`)));
  const { sides } = shown;
  const row = (name, read) => h('tr', {}, h('th', { scope: 'row' }, name),
    sides.map(({ answer, failed }) => h('td', {}, answer ? read(answer) : failed ? '–' : '…')));
  const forms = copies(shown);
  if (!(form in forms)) [form] = Object.keys(forms);
  const copied = h('pre', { tabindex: '0' }, h('code', {}, forms[form]()));
  const choice = h('select', {
    id: 'form',
    onchange: (event) => {
      form = event.target.value;
      copied.firstChild.textContent = forms[form]();
    },
  }, Object.keys(forms).map((name) => h('option', { value: name, selected: name === form }, name)));
  field('view-wire').replaceChildren(
    h('table', { class: 'measured' },
      h('caption', { class: 'hidden' }, 'The call on each transport'),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, shown.name), sides.map(({ name }) => h('th', { scope: 'col' }, name)))),
      h('tbody', {},
        row('Status', ({ status }) => String(status)),
        row('Time', ({ milliseconds }) => time(milliseconds)),
        row('Bytes', ({ bytes }) => count(bytes)),
        row('Tokens', ({ bytes }) => tokens(bytes)))),
    verdict(shown),
    h('div', { class: 'sides' }, sides.map(drawn)),
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
