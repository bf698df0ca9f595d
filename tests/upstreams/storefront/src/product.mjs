// Products and variants as the API shows them to somebody: in a country, in a language, with or without a token.
//
// The functions are resolvers: graphql-js calls them with the arguments of the field and the context of the request.
import { availableForSale, outOfStock, productById, soldIn } from './catalog.mjs';
import { connection, emptyConnection } from './connection.mjs';
import { encode } from './encoding.mjs';
import { accessDenied } from './errors.mjs';
import { priced } from './market.mjs';
import { money } from './money.mjs';
import { translate } from './words.mjs';

/** What an amount of US cents is where the request comes from. */
export const price = (cents, here) => money(priced(cents, here), here.currency);

/** A variant's options in the language of the request. */
const selectedOptions = ({ product, position }, { language }) =>
  product.options.map(({ name, values }, axis) => ({
    __typename: 'SelectedOption',
    name: translate(name, language),
    value: translate(values[position[axis]].name, language),
  }));

const titleOf = (variant, here) =>
  selectedOptions(variant, here)
    .map(({ value }) => value)
    .join(' / ');

const gramsPerUnit = { G: 1, KG: 1000 };

/** What a reference quantity costs, in the smallest unit of the currency, rounded half up. */
function unitPrice({ cents, unit }, here) {
  const quantity = unit.quantityValue * gramsPerUnit[unit.quantityUnit];
  const reference = unit.referenceValue * gramsPerUnit[unit.referenceUnit];
  return money(Math.floor((priced(cents, here) * reference * 2 + quantity) / (quantity * 2)), here.currency);
}

export function viewVariant(variant) {
  const { product } = variant;
  return {
    __typename: 'ProductVariant',
    // For the carts, which get what `nodes` and `merchandise` give out.
    source: variant,
    id: variant.id,
    title: (_, { here }) => titleOf(variant, here),
    sku: variant.sku,
    barcode: variant.barcode ?? null,
    availableForSale: availableForSale(variant),
    currentlyNotInStock: outOfStock(variant),
    price: (_, { here }) => price(variant.cents, here),
    priceV2: (_, { here }) => price(variant.cents, here),
    compareAtPrice: (_, { here }) => (variant.compareAtCents === undefined ? null : price(variant.compareAtCents, here)),
    compareAtPriceV2: (_, { here }) => (variant.compareAtCents === undefined ? null : price(variant.compareAtCents, here)),
    unitPrice: (_, { here }) => (variant.unit ? unitPrice(variant, here) : null),
    unitPriceMeasurement: variant.unit ? { __typename: 'UnitPriceMeasurement', ...variant.unit } : null,
    selectedOptions: (_, { here }) => selectedOptions(variant, here),
    image: () => viewProduct(product).featuredImage,
    product: () => viewProduct(product),
    quantityAvailable: (_, { token }) => {
      if (token === 'none') throw accessDenied('quantityAvailable', 'unauthenticated_read_product_inventory');
      return variant.stock ?? 0;
    },
    quantityRule: { __typename: 'QuantityRule', minimum: 1, maximum: null, increment: 1, ...variant.rule },
    requiresShipping: variant.digital !== true,
    requiresComponents: false,
    taxable: true,
    weight: 0.5,
    weightUnit: 'KILOGRAMS',
    metafield: (_, { token }) => withToken(token, 'metafield', null),
    metafields: ({ identifiers }, { token }) =>
      withToken(
        token,
        'metafields',
        identifiers.map(() => null),
      ),
    components: (args) => emptyConnection(args, 'ProductVariantComponent'),
    groupedBy: (args) => emptyConnection(args, 'ProductVariant'),
    sellingPlanAllocations: (args) => emptyConnection(args, 'SellingPlanAllocation'),
    storeAvailability: (args) => emptyConnection(args, 'StoreAvailability'),
    quantityPriceBreaks: (args) => emptyConnection(args, 'QuantityPriceBreak'),
  };
}

function withToken(token, field, value) {
  if (token === 'none') throw accessDenied(field, 'unauthenticated_read_metafields');
  return value;
}

/**
 * The variants that have what was selected; an option that was not selected may be anything. Undefined if something was
 * selected that is not there: names and values are those of the language of the request.
 */
function matching(
  { options, variants },
  { selectedOptions: selected, caseInsensitiveMatch, ignoreUnknownOptions },
  { language },
) {
  const fold = (text) => (caseInsensitiveMatch ? text.toLowerCase() : text);
  const same = (ours, theirs) => fold(translate(ours, language)) === fold(theirs);
  const wanted = new Map();
  for (const { name, value } of selected ?? []) {
    const axis = options.findIndex((option) => same(option.name, name));
    if (axis < 0) {
      if (ignoreUnknownOptions) continue;
      return undefined;
    }
    const position = options[axis].values.findIndex((entry) => same(entry.name, value));
    if (position < 0) return undefined;
    wanted.set(axis, position);
  }
  return variants.filter(({ position }) => [...wanted].every(([axis, value]) => position[axis] === value));
}

const firstAvailable = (variants) => variants.find(availableForSale) ?? variants[0];

/** The variants that differ from the selected one in one option. */
function adjacent(product, args, here) {
  const [selected = firstAvailable(product.variants)] = matching(product, args, here) ?? [];
  const distance = ({ position }) => position.filter((value, axis) => value !== selected.position[axis]).length;
  return product.variants.filter((variant) => distance(variant) === 1).map(viewVariant);
}

function range(variants, centsOf, here) {
  const cents = variants.map(centsOf);
  return {
    __typename: 'ProductPriceRange',
    minVariantPrice: price(Math.min(...cents), here),
    maxVariantPrice: price(Math.max(...cents), here),
  };
}

function viewImage(url, alt, id) {
  return {
    __typename: 'Image',
    id,
    url,
    src: url,
    originalSrc: url,
    transformedSrc: url,
    altText: alt,
    width: 1200,
    height: 900,
  };
}

const mediaTypes = {
  image: ['MediaImage', 'IMAGE'],
  video: ['Video', 'VIDEO'],
  external: ['ExternalVideo', 'EXTERNAL_VIDEO'],
  model: ['Model3d', 'MODEL_3D'],
};

function viewMedia({ number }, { kind, url, alt }, index) {
  const [type, content] = mediaTypes[kind];
  const preview = viewImage(
    kind === 'image' ? url : `https://cdn.example/preview-${number}-${index}.jpg`,
    alt,
    `gid://shopify/ImageSource/${number}${index}`,
  );
  const sources = {
    video: [{ __typename: 'VideoSource', format: 'mp4', mimeType: 'video/mp4', url, width: 1280, height: 720 }],
    model: [{ __typename: 'Model3dSource', format: 'glb', mimeType: 'model/gltf-binary', url, filesize: 123_456 }],
  };
  return {
    __typename: type,
    id: `gid://shopify/${type}/${number}${index}`,
    alt,
    mediaContentType: content,
    previewImage: preview,
    image: kind === 'image' ? preview : undefined,
    sources: sources[kind],
    host: 'YOUTUBE',
    embedUrl: url,
    embeddedUrl: url,
    originUrl: url,
    presentation: null,
  };
}

/** Text without markup, in one line, as Shopify makes it: what a script or a style says is part of it. */
const plain = (html) =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim();

export function viewProduct(product) {
  const { variants, media } = product;
  const page = (items, args, view, type) => connection(items, args, { keyOf: ({ id }) => id, view, type });
  const views = media.map((entry, index) => viewMedia(product, entry, index));
  const images = views.filter(({ image }) => image).map(({ image }) => image);
  return {
    __typename: 'Product',
    source: product,
    id: product.id,
    handle: product.handle,
    title: (_, { here }) => translate(product.title, here.language),
    description: ({ truncateAt }) => plain(product.html).slice(0, truncateAt ?? undefined),
    descriptionHtml: product.html,
    onlineStoreUrl: product.url,
    productType: product.type,
    category: product.category
      ? {
          __typename: 'TaxonomyCategory',
          id: `gid://shopify/TaxonomyCategory/${product.category.id}`,
          name: product.category.name,
          ancestors: [],
        }
      : null,
    vendor: product.vendor,
    tags: (_, { token }) => {
      if (token === 'none') throw accessDenied('tags', 'unauthenticated_read_product_tags');
      return product.tags;
    },
    availableForSale: variants.some(availableForSale),
    isGiftCard: product.giftCard === true,
    requiresSellingPlan: product.subscription === true,
    createdAt: product.createdAt,
    publishedAt: product.createdAt,
    updatedAt: product.createdAt,
    seo: { __typename: 'SEO', title: null, description: null },
    trackingParameters: null,
    totalInventory: (_, { token }) => {
      if (token === 'none') throw accessDenied('totalInventory', 'unauthenticated_read_product_inventory');
      return variants.reduce((sum, { stock }) => sum + (stock ?? 0), 0);
    },
    priceRange: (_, { here }) => range(variants, ({ cents }) => cents, here),
    // Zero where nothing is compared with, as Shopify has it.
    compareAtPriceRange: (_, { here }) => range(variants, ({ compareAtCents }) => compareAtCents ?? 0, here),
    options: ({ first }, { here }) =>
      product.options.slice(0, first ?? undefined).map((option, axis) => viewOption(product, option, axis, here)),
    encodedVariantExistence: () => encode(variants.map(({ position }) => position)),
    encodedVariantAvailability: () => encode(variants.filter(availableForSale).map(({ position }) => position)),
    variantsCount: { __typename: 'Count', count: variants.length, precision: 'EXACT' },
    variants: (args) => page(variants, args, viewVariant, 'ProductVariant'),
    selectedOrFirstAvailableVariant: (args, { here }) => {
      const [selected] = args.selectedOptions ? (matching(product, args, here) ?? []) : [];
      return viewVariant(selected ?? firstAvailable(variants));
    },
    variantBySelectedOptions: (args, { here }) => {
      const [selected] = matching(product, args, here) ?? [];
      return selected ? viewVariant(selected) : null;
    },
    adjacentVariants: (args, { here }) => adjacent(product, args, here),
    media: (args) => page(views, args, (view) => view, 'Media'),
    images: (args) => page(images, args, (view) => view, 'Image'),
    featuredImage: images[0] ?? null,
    collections: (args) => emptyConnection(args, 'Collection'),
    sellingPlanGroups: (args) => emptyConnection(args, 'SellingPlanGroup'),
    metafield: (_, { token }) => withToken(token, 'metafield', null),
    metafields: ({ identifiers }, { token }) =>
      withToken(
        token,
        'metafields',
        identifiers.map(() => null),
      ),
  };
}

function viewOption({ variants }, { id, name, values }, axis, { language }) {
  return {
    __typename: 'ProductOption',
    id,
    name: translate(name, language),
    values: values.map((value) => translate(value.name, language)),
    optionValues: values.map((value, position) => ({
      __typename: 'ProductOptionValue',
      id: value.id,
      name: translate(value.name, language),
      swatch: null,
      firstSelectableVariant: () => {
        const having = variants.filter((variant) => variant.position[axis] === position);
        return having.length > 0 ? viewVariant(firstAvailable(having)) : null;
      },
    })),
  };
}

/** A product, if it is sold where the request comes from. */
export function visibleProduct(id, { country }) {
  const product = productById.get(id);
  return product && soldIn(product, country) ? product : undefined;
}
