// Elements, and documents in colors.

/** Makes an element. Text is text: nothing that comes as data is read as markup. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Documents longer than this are shown in one color. */
const LONGEST = 60_000;

/** A document with its names and values in colors. */
export function colored(document) {
  const text = typeof document === 'string' ? document : JSON.stringify(document, null, 2);
  const code = h('code');
  if (text.length > LONGEST) {
    code.textContent = text;
    return code;
  }
  const parts = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?)/g;
  let end = 0;
  for (const match of text.matchAll(parts)) {
    code.append(text.slice(end, match.index));
    const [whole, string, colon] = match;
    if (string && colon) code.append(h('span', { class: 'name' }, string), colon);
    else code.append(h('span', { class: string ? 'string' : 'literal' }, whole));
    end = match.index + whole.length;
  }
  code.append(text.slice(end));
  return code;
}

/** Paths at which two documents differ. */
export function differences(one, other, path = '$') {
  if (Object.is(one, other)) return [];
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return [path];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => differences(one[name], other[name], `${path}.${name}`));
}

/** A refusal without the identifier of its request, which REST states in a header field. */
const unnamed = ({ request_id: _, ...refusal }) => refusal;

/** What an operation answered, in an answer over MCP. */
export const result = (json) => json?.result?.structuredContent ?? (json?.error?.data ? unnamed(json.error.data) : json?.error);

const number = new Intl.NumberFormat('en');
export const count = (value) => number.format(value);
export const time = (milliseconds) => (milliseconds < 10 ? `${milliseconds.toFixed(1)} ms` : `${count(Math.round(milliseconds))} ms`);
