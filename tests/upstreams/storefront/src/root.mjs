// The root of queries. What is not here is not emulated, and answers with an error that says so.
import { productByHandle, variantById, soldIn, products } from './catalog.mjs';
import { viewCart } from './cart.mjs';
import { fieldError } from './errors.mjs';
import { localization } from './market.mjs';
import { viewProduct, viewVariant, visibleProduct } from './product.mjs';
import { browse, search } from './search.mjs';
import { policyById, shop } from './shop.mjs';

/** The releases of the API that are supported, the oldest first. */
export const versions = ['2026-01', '2026-04', '2026-07', '2026-10'];

const type = (id) => id.split('/')[3];

/** Anything by its id, as far as it is sold where the request comes from. */
function node(id, { here, carts, settings }) {
  switch (type(id)) {
    case 'Product': {
      const product = visibleProduct(id, here);
      return product ? viewProduct(product) : null;
    }
    case 'ProductVariant': {
      const variant = variantById.get(id);
      return variant && soldIn(variant.product, here.country) ? viewVariant(variant) : null;
    }
    case 'Cart': {
      const found = carts.find(id);
      return found ? viewCart(found, settings) : null;
    }
    case 'Shop':
      return id === shop.id ? shop : null;
    case 'ShopPolicy':
      return policyById.get(id) ?? null;
    default:
      return null;
  }
}

export const queries = {
  node: ({ id }, context) => node(id, context),
  nodes: ({ ids }, context) => ids.map((id) => node(id, context)),
  product: ({ id, handle }, context) => {
    if ((id == null) === (handle == null)) throw fieldError('one of id or handle has to be given', 'BAD_REQUEST');
    return node(id ?? productByHandle.get(handle)?.id ?? 'gid://shopify/Product/0', context);
  },
  productByHandle: ({ handle }, context) => node(productByHandle.get(handle)?.id ?? 'gid://shopify/Product/0', context),
  products: browse,
  search,
  cart: ({ id }, context) => (type(id) === 'Cart' ? node(id, context) : null),
  shop,
  localization: (_, { here }) => localization(here),
  paymentSettings: shop.paymentSettings,
  publicApiVersions: [
    ...versions.map((handle, index) => ({
      __typename: 'ApiVersion',
      handle,
      displayName: index === versions.length - 1 ? `${handle} (Latest)` : handle,
      supported: true,
    })),
    { __typename: 'ApiVersion', handle: '2027-01', displayName: '2027-01 (Release candidate)', supported: false },
    { __typename: 'ApiVersion', handle: 'unstable', displayName: 'unstable', supported: false },
  ],
  productTypes: ({ first }) => strings([...new Set(products.map((product) => product.type))].sort().slice(0, first)),
};

const strings = (nodes) => ({
  __typename: 'StringConnection',
  nodes,
  edges: nodes.map((entry) => ({ __typename: 'StringEdge', cursor: entry, node: entry })),
  pageInfo: {
    __typename: 'PageInfo',
    hasNextPage: false,
    hasPreviousPage: false,
    startCursor: nodes[0] ?? null,
    endCursor: nodes.at(-1) ?? null,
  },
});
