// The shop as a buyer would see it, drawn from the answers of calls.
import { add, cart, checkout, forget, order } from './buying.js';
import { ask, call, choose, close, endpoint, offers, open } from './calls.js';
import { h } from './dom.js';
import { guarded, heading, money, picture, place, query, quoting, range, refused, say, show } from './view.js';
import './wire.js';

const nothing = () => ({ wants: {}, tops: undefined, category: undefined });
const state = nothing();

// ---- Search

/** Number of the newest question of a view; answers to older ones come too late. */
let asked = 0;

/** Most pages of goods that are looked through for categories. */
const MOST_PAGES = 4;

/** The shop's own categories, without those below them: of the first goods, which is what a shop front needs. */
async function categories() {
  const found = new Set();
  let cursor;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await ask('search_catalog', { body: { filters: { available: true }, pagination: { limit: 50, ...(cursor && { cursor }) } } });
    for (const { categories: all } of answer?.products ?? []) {
      for (const { value, taxonomy } of all ?? []) if (taxonomy === 'merchant') found.add(value.split(' > ')[0]);
    }
    cursor = answer?.pagination?.has_next_page && answer.pagination.cursor;
    if (!cursor) break;
  }
  return [...found].slice(0, 10);
}

/** Asks for goods, from a cursor on if there is one. */
function wish(cursor) {
  const words = query.value.trim();
  const { category } = state;
  // A search states words or filters; that only goods in stock are wanted is understood by this gateway alone.
  const everything = endpoint() ? { price: { min: 0 } } : { available: true };
  const filters = { ...(category && { categories: [category] }), ...(!words && everything) };
  const pagination = { limit: 12, ...(cursor && { cursor }) };
  return { ...(words && { query: words }), ...(Object.keys(filters).length > 0 && { filters }), pagination };
}

/** Opens a product by its identifier, at a shop that cannot be searched. */
function named() {
  const id = h('input', { id: 'product-id', autocomplete: 'off', spellcheck: 'false', required: true });
  show(heading('Open a product'), h('p', {}, 'This shop offers no search over UCP.'),
    h('form', { class: 'panel', onsubmit: (event) => { event.preventDefault(); location.hash = `#/product/${encodeURIComponent(id.value.trim())}`; } },
      h('label', { for: 'product-id' }, 'Identifier of a product'), h('div', { class: 'row' }, id, h('button', { class: 'button second' }, 'Open'))));
}

async function search() {
  if (!offers('search_catalog')) return named();
  const turn = ++asked;
  const words = query.value.trim();
  const { category } = state;
  const answer = await call('search_catalog', { body: wish() });
  // A later search may have been answered before.
  if (turn !== asked) return;
  if (!answer?.products) return show(heading('Search'), refused(answer));
  const { products, pagination } = answer;
  const total = pagination?.total_count ?? products.length;
  const chip = (name) => h('button', {
    type: 'button',
    class: 'chip',
    'aria-pressed': String(category === name),
    onclick: () => guarded(async () => {
      state.category = category === name ? undefined : name;
      await search();
      [...place.querySelectorAll('.chip')].find(({ textContent }) => textContent === name)?.focus();
    }),
  }, name);
  const chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Categories', hidden: true });
  const fill = (tops) => {
    chips.replaceChildren(...tops.map(chip));
    chips.hidden = tops.length < 2;
  };
  if (state.tops) fill(state.tops);
  else if (!endpoint()) guarded(async () => fill((state.tops = await categories())));
  say(`${total} products`);
  show(
    heading(words ? `Results for “${words}”` : (category ?? (endpoint() ? 'Products' : 'Everything in stock')), h('p', { class: 'quiet' }, `${total} products`)),
    chips,
    (answer.messages ?? []).length > 0 && h('div', { class: 'note' }, answer.messages.map(({ content }) => h('p', {}, quoting(content)))),
    products.length === 0 && h('p', { class: 'quiet' }, 'No products found.'),
    h('ul', { class: 'goods' }, products.map(card)),
    following(pagination, turn),
  );
}

/** A button that shows the next goods below those that are shown. */
function following(pagination, turn) {
  if (!pagination?.has_next_page) return undefined;
  return h('p', { class: 'more' }, h('button', {
    type: 'button',
    class: 'button second',
    onclick: (event) => guarded(async () => {
      const { target } = event;
      const answer = await call('search_catalog', { body: wish(pagination.cursor) });
      if (turn !== asked || !answer?.products) return;
      const cards = answer.products.map(card);
      place.querySelector('.goods').append(...cards);
      const next = following(answer.pagination, turn);
      if (next) target.parentElement.replaceWith(next);
      else target.parentElement.remove();
      cards[0]?.querySelector('a').focus();
      say(`${answer.products.length} more products`);
    }),
  }, 'Show more'));
}

function card(product) {
  const { rating } = product;
  return h('li', {},
    h('a', { href: `#/product/${encodeURIComponent(product.id)}` },
      picture(product.media, 'thumb'),
      h('span', { class: 'title' }, product.title),
      h('span', { class: 'price' }, range(product.price_range)),
      rating?.value && h('span', { class: 'rating' }, `★ ${rating.value}`, rating.count !== undefined && h('span', { class: 'quiet' }, ` (${rating.count})`))));
}

// ---- Product

async function product(id, wants = {}, latest) {
  if (!offers('get_product')) return show(heading('No page for a product'), h('p', {}, 'This shop does not offer `get_product`: its products are only in the search.'), h('p', {}, h('a', { href: '#/' }, 'All products')));
  const selected = Object.entries(wants).map(([name, label]) => ({ name, label }));
  // The choice that was just made is the last to be given up.
  const preferences = latest && [latest, ...Object.keys(wants).filter((name) => name !== latest)];
  const turn = ++asked;
  const answer = await call('get_product', { body: { id, ...(selected.length > 0 && { selected }), ...(preferences && { preferences }) } });
  if (turn !== asked) return;
  const found = answer?.product;
  if (!found) return show(heading('Not found'), refused(answer));
  const kept = Object.fromEntries((found.selected ?? []).map(({ name, label }) => [name, label]));
  const lost = Object.entries(wants).filter(([name, label]) => kept[name] !== label);
  const [variant] = found.variants ?? [];
  const options = found.options ?? [];
  const complete = options.every(({ name }) => kept[name]);
  const buyable = complete && variant?.availability?.available !== false;
  const media = variant?.media?.length ? variant.media : found.media;
  const quantity = h('input', { id: 'quantity', type: 'number', min: 1, max: 99, value: 1, inputmode: 'numeric' });
  show(
    h('p', { class: 'crumbs' }, h('a', { href: '#/' }, '← All products')),
    h('article', { class: 'product' },
      picture(media, 'large'),
      h('div', {},
        heading(found.title),
        h('p', { class: 'price big' }, complete && variant?.price ? money(variant.price.amount, variant.price.currency) : range(found.price_range),
          variant?.list_price && complete && h('s', {}, h('span', { class: 'hidden' }, 'before: '), money(variant.list_price.amount, variant.list_price.currency))),
        h('p', {}, found.description?.plain ?? ''),
        lost.length > 0 && h('div', { class: 'note', role: 'status' },
          h('p', {}, 'This combination isn\'t available. Removed: ', lost.map(([name, label], at) => [at > 0 ? ', ' : '', h('strong', {}, `${name} ${label}`)]), '.')),
        options.map((option) => picker(found.id, option, kept)),
        options.length > 0 && h('p', { class: 'legend quiet' }, h('code', {}, 'exists'), ' and ', h('code', {}, 'available'), ' of each value are told for the choices made so far.'),
        h('div', { class: 'buy' },
          h('label', {}, 'Quantity ', quantity),
          h('button', { type: 'button', class: 'button', disabled: !buyable, onclick: () => guarded(() => add(variant, found, Math.max(1, Number(quantity.value) || 1))) },
            complete ? (buyable ? 'Add to cart' : 'Sold out') : `Choose ${options.find(({ name }) => !kept[name]).name}`)),
        complete && variant && h('p', { class: 'quiet' }, h('code', {}, variant.id)))));
}

function picker(id, option, kept) {
  const value = ({ label, exists, available }) => {
    const how = exists === false ? 'not made' : available === false ? 'sold out' : 'available';
    const chosen = kept[option.name] === label;
    return h('button', {
      type: 'button',
      class: `value ${how.replace(' ', '-')}`,
      'aria-pressed': String(chosen),
      'data-option': option.name,
      'data-label': label,
      onclick: () => guarded(async () => {
        const wants = { ...kept, [option.name]: label };
        state.wants[id] = wants;
        await product(id, wants, option.name);
        [...place.querySelectorAll('.value')].find(({ dataset }) => dataset.option === option.name && dataset.label === label)?.focus();
      }),
    }, h('span', {}, label), h('small', {}, how));
  };
  return h('fieldset', { class: 'picker' }, h('legend', {}, option.name, kept[option.name] && h('span', { class: 'quiet' }, ` ${kept[option.name]}`)), h('div', {}, option.values.map(value)));
}

// ---- Ways

function route() {
  // Whatever was asked for before is about another view.
  clearTimeout(typing);
  asked += 1;
  const [, view = '', id = ''] = location.hash.split('/').map(decodeURIComponent);
  if (view === 'product') return product(id, state.wants[id]);
  if (view === 'cart') return cart();
  if (view === 'checkout') return checkout();
  if (view === 'order') return order(id);
  return search();
}

addEventListener('hashchange', () => guarded(route));
let typing;
query.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    state.category = undefined;
    if (location.hash !== '' && location.hash !== '#/') location.hash = '#/';
    else guarded(search);
  }, 180);
});
document.querySelector('form.search').addEventListener('submit', (event) => event.preventDefault());
for (const id of ['view', 'caller', 'key', 'profile']) document.getElementById(id).addEventListener('change', () => guarded(route));
document.getElementById('release').addEventListener('change', () => guarded(async () => {
  await choose();
  describe();
  await route();
}));

// ---- Another endpoint

const described = document.getElementById('endpoint');

/** Says which other endpoint is shown, and what it lacks. */
function describe() {
  const found = endpoint();
  if (!found) return described.replaceChildren();
  const over = [found.rest && 'REST', found.mcp && 'MCP'].filter(Boolean).join(' and ');
  described.replaceChildren(h('div', { class: 'note' },
    h('p', {}, h('strong', {}, new URL(found.address).host), ` speaks ${found.release} over ${over}.`),
    found.lacks.length > 0 && h('p', {}, 'Missing:'),
    found.lacks.length > 0 && h('ul', {}, found.lacks.map((text) => h('li', {}, text)))));
}

/** Shows another shop from its beginning. */
async function begun() {
  Object.assign(state, nothing());
  forget();
  query.value = '';
  describe();
  if (location.hash === '' || location.hash === '#/') await route();
  else location.hash = '#/';
}

const addressed = document.getElementById('address');
document.getElementById('elsewhere').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (!addressed.value.trim()) return;
  say('Contacting the endpoint');
  described.replaceChildren(h('p', { class: 'quiet' }, 'Fetching the profile …'));
  try {
    await open(addressed.value);
  } catch (error) {
    describe();
    described.prepend(h('div', { class: 'note alarm', role: 'alert' }, h('p', {}, error.message), error.answer?.accepted && h('p', {}, `Accepted: ${error.answer.accepted}.`)));
    return;
  }
  guarded(begun);
});
document.getElementById('own').addEventListener('click', () => {
  close();
  addressed.value = '';
  addressed.focus();
  guarded(begun);
});
guarded(route);
