// Connections: a page of a list, with cursors that name the last item.
import { fieldError } from './errors.mjs';

const encodeCursor = (key) => Buffer.from(JSON.stringify({ last_id: key, last_value: String(key) })).toString('base64');

function positionOf(cursor, items, keyOf) {
  let key;
  try {
    key = JSON.parse(Buffer.from(cursor, 'base64').toString('utf8')).last_id;
  } catch {
    // Not one of ours; the same refusal as below.
  }
  const position = key === undefined ? -1 : items.findIndex((item) => keyOf(item) === key);
  if (position < 0) throw fieldError('Invalid cursor for current pagination sort.', 'BAD_REQUEST');
  return position;
}

/**
 * A page of `items`. `keyOf` tells them apart, `view` makes one the source of an answer, `more` is what the connection
 * says besides.
 */
export function connection(items, { first, last, after, before, reverse }, { keyOf, view, type, more = {} }) {
  const limit = (name, count) => {
    if (count < 0) throw fieldError(`${name} cannot be negative`, 'BAD_REQUEST');
    if (count > 250) throw fieldError(`${name} cannot exceed 250`, 'BAD_REQUEST');
  };
  if (first == null && last == null) throw fieldError('you must provide one of first or last', 'BAD_REQUEST');
  if (first != null && last != null) throw fieldError('providing both first and last is not supported', 'BAD_REQUEST');
  if (first != null) limit('first', first);
  if (last != null) limit('last', last);

  const all = reverse ? [...items].reverse() : items;
  const from = after == null ? 0 : positionOf(after, all, keyOf) + 1;
  const to = before == null ? all.length : positionOf(before, all, keyOf);
  const begin = first == null ? Math.max(from, to - last) : from;
  const end = first == null ? to : Math.min(to, from + first);
  const page = all.slice(begin, Math.max(begin, end));
  const edges = page.map((item) => ({ __typename: `${type}Edge`, cursor: encodeCursor(keyOf(item)), node: view(item) }));
  return {
    __typename: `${type}Connection`,
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      __typename: 'PageInfo',
      hasNextPage: end < all.length,
      hasPreviousPage: begin > 0,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    ...more,
  };
}

/** A connection that has nothing in it, for what this shop does not have. */
export const emptyConnection = (args, type) => connection([], args, { keyOf: String, view: String, type });
