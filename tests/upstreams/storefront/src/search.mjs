// Finding products: full-text search with filters, and browsing with the query language. What ranks first is ours alone,
// and says nothing about Shopify's own ranking.
import { availableForSale, products, soldIn } from './catalog.mjs';
import { connection } from './connection.mjs';
import { priced } from './market.mjs';
import { currency } from './money.mjs';
import { price, viewProduct } from './product.mjs';
import { matches } from './query.mjs';
import { translate } from './words.mjs';

const words = (text) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** What is not a product and found all the same, where nobody asked for products alone. */
const pages = [
  {
    __typename: 'Page',
    id: 'gid://shopify/Page/1',
    handle: 'size-guide',
    title: 'Size guide for shirts',
    body: '<p>Measure.</p>',
    bodySummary: 'Measure.',
    onlineStoreUrl: 'https://storefront.example/pages/size-guide',
  },
];

/** How well a product fits: none of a word is none at all, and the title counts most. */
function score(product, wanted, prefix, { language }) {
  const title = new Set([...words(product.title), ...words(translate(product.title, language))]);
  const other = new Set([product.type, product.vendor, product.category?.name ?? '', ...product.tags].flatMap(words));
  let total = 0;
  for (const [index, word] of wanted.entries()) {
    const has = (set) =>
      set.has(word) || (prefix === 'LAST' && index === wanted.length - 1 && [...set].some((entry) => entry.startsWith(word)));
    if (has(title)) total += 3;
    else if (has(other)) total += 1;
    else if (product.variants.some(({ sku }) => sku.toLowerCase() === word)) total += 1;
    else return 0;
  }
  return total;
}

const anyAvailable = ({ variants }) => variants.some(availableForSale);
const lowest = ({ variants }) => Math.min(...variants.map(({ cents }) => cents));

/** The filters that merchants can switch on or off; what is switched off is ignored without a word. */
const filters = {
  available: (product, wanted) => anyAvailable(product) === wanted,
  price: ({ variants }, { min, max }, here) => {
    const unit = 10 ** currency(here.currency).digits;
    return variants.some(({ cents }) => {
      const amount = priced(cents, here);
      return amount >= Math.round((min ?? 0) * unit) && (max == null || amount <= Math.round(max * unit));
    });
  },
  productType: ({ type }, wanted) => type.toLowerCase() === wanted.toLowerCase(),
  productVendor: ({ vendor }, wanted) => vendor.toLowerCase() === wanted.toLowerCase(),
  tag: ({ tags }, wanted) => tags.includes(wanted),
  // A category and what is below it.
  category: ({ category }, { id }) => {
    const wanted = id.split('/').at(-1);
    return category !== undefined && (category.id === wanted || category.id.startsWith(`${wanted}-`));
  },
  variantOption: ({ options }, { name, value }, { language }) =>
    options.some(
      (option) =>
        translate(option.name, language) === name && option.values.some((entry) => translate(entry.name, language) === value),
    ),
};
export const filterNames = Object.keys(filters);

/** Filters of one kind are alternatives, different kinds all have to hold. */
function filtered(found, wanted, enabled, here) {
  const kinds = new Map();
  for (const filter of wanted ?? []) {
    for (const [kind, value] of Object.entries(filter)) {
      if (value != null && enabled.includes(kind)) kinds.set(kind, [...(kinds.get(kind) ?? []), value]);
    }
  }
  return found.filter((product) =>
    [...kinds].every(([kind, values]) => values.some((value) => filters[kind](product, value, here))),
  );
}

const productPage = (found, args, more, type) =>
  connection(found, args, { keyOf: ({ id }) => id, view: (item) => (item.number ? viewProduct(item) : item), type, more });

function describeFilters(found, here) {
  const highest = Math.max(0, ...found.flatMap(({ variants }) => variants.map(({ cents }) => cents)));
  const value = (id, label, count, input) => ({
    __typename: 'FilterValue',
    id,
    label,
    count,
    input: JSON.stringify(input),
    image: null,
    swatch: null,
  });
  return [
    {
      __typename: 'Filter',
      id: 'filter.v.availability',
      label: 'Availability',
      type: 'LIST',
      presentation: 'TEXT',
      values: [true, false].map((available) =>
        value(
          `filter.v.availability.${available ? 1 : 0}`,
          available ? 'In stock' : 'Out of stock',
          found.filter((product) => anyAvailable(product) === available).length,
          { available },
        ),
      ),
    },
    {
      __typename: 'Filter',
      id: 'filter.v.price',
      label: 'Price',
      type: 'PRICE_RANGE',
      presentation: null,
      values: [value('filter.v.price', 'Price', found.length, { price: { min: 0, max: Number(price(highest, here).amount) } })],
    },
  ];
}

/** `QueryRoot.search`. */
export function search(args, { here, settings }) {
  const wanted = words(args.query);
  const scores = new Map(
    products
      .filter((product) => soldIn(product, here.country))
      .map((product) => [product, wanted.length === 0 ? 1 : score(product, wanted, args.prefix, here)]),
  );
  let found = filtered(
    [...scores.keys()].filter((product) => scores.get(product) > 0),
    args.productFilters,
    settings.filters,
    here,
  );
  if (args.unavailableProducts === 'HIDE') found = found.filter(anyAvailable);
  if (args.sortKey === 'PRICE') found.sort((a, b) => lowest(a) - lowest(b) || a.number - b.number);
  else found.sort((a, b) => scores.get(b) - scores.get(a) || a.number - b.number);
  if (args.unavailableProducts === 'LAST') found.sort((a, b) => anyAvailable(b) - anyAvailable(a));
  const types = args.types ?? ['ARTICLE', 'PAGE', 'PRODUCT'];
  const others = types.includes('PAGE') ? pages.filter(({ title }) => wanted.every((word) => words(title).includes(word))) : [];
  const all = [...(types.includes('PRODUCT') ? found : []), ...others];
  return productPage(
    all,
    args,
    { totalCount: all.length, productFilters: () => describeFilters(found, here) },
    'SearchResultItem',
  );
}

const orders = {
  ID: ({ number }) => number,
  CREATED_AT: ({ createdAt }) => createdAt,
  UPDATED_AT: ({ createdAt }) => createdAt,
  PRICE: lowest,
  PRODUCT_TYPE: ({ type }) => type,
  TITLE: ({ title }) => title,
  VENDOR: ({ vendor }) => vendor,
  // Made up: the ids in another order.
  BEST_SELLING: ({ number }) => (number * 7919) % 10_007,
  RELEVANCE: ({ number }) => number,
};

/** `QueryRoot.products`. */
export function browse(args, { here }) {
  const key = orders[args.sortKey];
  const compare = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.number - b.number);
  const found = products.filter((product) => soldIn(product, here.country) && matches(args.query ?? '', product)).sort(compare);
  return productPage(found, args, {}, 'Product');
}
