// The catalogue: the goods with a point to make (goods.mjs) and about a hundred ordinary ones, the same in every run.
import { goods } from './goods.mjs';

/** Mulberry32: a small generator whose numbers depend on nothing but the seed. */
export function random(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const adjectives = [
  'Amber',
  'Breeze',
  'Cedar',
  'Coastal',
  'Ember',
  'Forest',
  'Granite',
  'Harvest',
  'Meadow',
  'Northern',
  'Summit',
];
const nouns = [
  ['Bag', 'Bags', { id: 'lb-1', name: 'Backpacks' }, 'Canvas'],
  ['Cap', 'Hats', { id: 'aa-2-17-1', name: 'Baseball Caps' }, 'Cotton'],
  ['Chair', 'Furniture', { id: 'fr-7-1', name: 'Chairs' }, 'Leather'],
  ['Lamp', 'Lamps', { id: 'hg-13-7', name: 'Lamps' }, 'Linen'],
  ['Mug', 'Mugs', { id: 'hg-11-10-1-3', name: 'Mugs' }, undefined],
  ['Pants', 'Pants', { id: 'aa-1-12', name: 'Pants' }, 'Cotton'],
  ['Runner', 'Shoes', { id: 'aa-8-8', name: 'Athletic Shoes' }, 'Canvas'],
  ['Scarf', 'Scarves', { id: 'aa-2-26', name: 'Scarves' }, 'Wool'],
  ['Shirt', 'Shirts', { id: 'aa-1-13-7', name: 'Shirts' }, 'Linen'],
  ['Tent', 'Outdoor', { id: 'sg-4-3', name: 'Tents' }, 'Canvas'],
];
const colors = ['Black', 'Blue', 'Green', 'Red', 'White'];
const sizes = ['Small', 'Medium', 'Large', 'X-Large'];

function ordinaryGoods(count) {
  const next = random(2026);
  return Array.from({ length: count }, (_, index) => {
    const [noun, type, category, material] = nouns[index % nouns.length];
    const adjective = adjectives[Math.floor(index / nouns.length)];
    const cents = (5 + next(200)) * 100 + [0, 20, 50, 95, 99][next(5)];
    const axes = [
      ['Color', colors.slice(0, 1 + next(5))],
      ['Size', sizes.slice(0, 1 + next(4))],
    ];
    const gone = next(7);
    return {
      id: 2001 + index,
      title: `${adjective} ${noun}`,
      type,
      category,
      vendor: ['Ridgeline', 'Kiln House', 'Weft & Co'][next(3)],
      tags: [material ?? 'ceramic', noun].map((tag) => tag.toLowerCase()),
      options: next(5) === 0 ? undefined : axes,
      cents,
      sold: (position, variant) => ({
        stock: variant % 7 === gone ? 0 : 5 + next(40),
        oversell: next(10) === 0,
        compareAtCents: next(4) === 0 ? cents + 1000 : undefined,
        barcode: ean13(`40${String(2001 + index)}${String(variant).padStart(6, '0')}`),
      }),
    };
  });
}

/** Twelve digits and the one that makes them an EAN-13. */
function ean13(digits) {
  const sum = [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

/** All combinations of positions, in the order in which Shopify numbers variants: the last option changes first. */
function combinations(options) {
  return options.reduce(
    (tuples, { values }) => tuples.flatMap((tuple) => values.map((_, position) => [...tuple, position])),
    [[]],
  );
}

/** Shopify has a product without options say that it has one, with one value. */
const noOptions = [['Title', ['Default Title']]];

function product({ id, title, handle, type, category, vendor, tags, options, cents, sold, html, url, media, ...rest }) {
  const slug = handle ?? title.toLowerCase().replaceAll(' ', '-');
  const axes = (options ?? noOptions).map(([name, values], axis) => ({
    id: `gid://shopify/ProductOption/${id * 10 + axis}`,
    name,
    values: values.map((value, position) => ({
      id: `gid://shopify/ProductOptionValue/${(id * 10 + axis) * 100 + position}`,
      name: value,
    })),
  }));
  const made = {
    number: id,
    id: `gid://shopify/Product/${id}`,
    title,
    handle: slug,
    type,
    category,
    vendor,
    tags,
    options: axes,
    html: html ?? `<p>The <em>${title}</em> by ${vendor.replaceAll('&', '&amp;')}.</p>`,
    url: url === undefined ? `https://storefront.example/products/${slug}` : url,
    media: media ?? [{ kind: 'image', url: `https://cdn.example/${slug}.jpg`, alt: title }],
    createdAt: new Date(Date.UTC(2026, 0, 1, 0, id % 1000)).toISOString().replace('.000', ''),
    ...rest,
  };
  made.variants = combinations(axes)
    .map((position, index) => ({ position, index, details: sold(position, index) }))
    .filter(({ details }) => details !== undefined)
    .map(({ position, index, details }) => ({
      number: id * 10_000 + index + 1,
      id: `gid://shopify/ProductVariant/${id * 10_000 + index + 1}`,
      product: made,
      position,
      cents,
      sku: `${slug}-${index + 1}`.toUpperCase(),
      ...details,
    }));
  return made;
}

export const products = [...goods, ...ordinaryGoods(105)].map(product);
export const productById = new Map(products.map((entry) => [entry.id, entry]));
export const productByHandle = new Map(products.map((entry) => [entry.handle, entry]));
export const variantById = new Map(products.flatMap(({ variants }) => variants).map((entry) => [entry.id, entry]));

/** Whether there is none left on the shelf. Without a number, stock is not counted. */
export const outOfStock = ({ stock }) => stock === 0;
export const availableForSale = (variant) => !outOfStock(variant) || variant.oversell === true;
/** Products are published per country. */
export const soldIn = ({ countries }, country) => countries === undefined || countries.includes(country);
