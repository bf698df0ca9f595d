// The query language of `products(query:)`, as far as it is needed: terms, `field:value` with quotes, prefixes and
// comparisons, AND (also unsaid), OR, NOT, parentheses. A field that is not known holds for every product.
import { availableForSale } from './catalog.mjs';

const token = /\s*(\(|\)|-?(?:[\w.]+:)?(?:<=|>=|<|>)?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|[^\s()]+)/gy;

/** Whether a product fits a query. An empty query fits every product. */
export function matches(query, product) {
  const tokens = [...query.matchAll(token)].map(([, text]) => text);
  let next = 0;
  const either = () => {
    let result = all();
    while (tokens[next]?.toUpperCase() === 'OR') {
      next += 1;
      result = all() || result;
    }
    return result;
  };
  const all = () => {
    let result = true;
    while (next < tokens.length && tokens[next] !== ')' && tokens[next].toUpperCase() !== 'OR') {
      if (tokens[next].toUpperCase() === 'AND') next += 1;
      else result = one() && result;
    }
    return result;
  };
  const one = () => {
    const text = tokens[next];
    next += 1;
    // A NOT, or an opening parenthesis, with nothing behind it.
    if (text === undefined) return true;
    if (text.toUpperCase() === 'NOT') return !one();
    if (text === '(') {
      const result = either();
      next += 1;
      return result;
    }
    return text.startsWith('-') ? !term(text.slice(1), product) : term(text, product);
  };
  return either();
}

function term(text, product) {
  const [, name, operator, quoted] = /^(?:([\w.]+):)?(<=|>=|<|>)?([\s\S]*)$/.exec(text);
  const value = quoted
    .replace(/^(["'])([\s\S]*)\1$/, '$2')
    .replaceAll(/\\(.)/g, '$1')
    .toLowerCase();
  // Texts fit as a whole, or from the beginning where the value ends in an asterisk.
  const fits = (ours) => {
    const text = ours.toLowerCase();
    return value.endsWith('*') ? text.startsWith(value.slice(0, -1)) : text === value;
  };
  const contains = (ours) => ours.toLowerCase().includes(value.replace(/\*$/, ''));
  switch (name) {
    case undefined:
      return contains([product.title, product.type, product.vendor, ...product.tags].join(' '));
    case 'product_type':
      return value.split(',').some((type) => type.trim() === product.type.toLowerCase());
    case 'tag':
      return product.tags.some(fits);
    case 'tag_not':
      return !product.tags.some(fits);
    case 'title':
      return contains(product.title);
    case 'vendor':
      return fits(product.vendor);
    // Not in the list that the schema documents, but taken. Not exact: a part of the code will do.
    case 'sku':
      return product.variants.some(({ sku }) => contains(sku));
    case 'id':
      return fits(String(product.number));
    case 'available_for_sale':
      return String(product.variants.some(availableForSale)) === value;
    // In the shop's own currency.
    case 'variants.price':
      return product.variants.some(({ cents }) => compare(cents, operator, Math.round(Number(value) * 100)));
    default:
      return true;
  }
}

function compare(ours, operator, theirs) {
  switch (operator) {
    case '<':
      return ours < theirs;
    case '<=':
      return ours <= theirs;
    case '>':
      return ours > theirs;
    case '>=':
      return ours >= theirs;
    default:
      return ours === theirs;
  }
}
