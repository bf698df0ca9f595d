// What the shop's views are made of: texts, amounts, pictures, headings.
import { h } from './dom.js';

export const place = document.getElementById('view-shop');
/** Where words to search for are typed, which keeps the focus. */
export const query = document.getElementById('query');

/** Says something to screen readers. */
export const say = (text) => {
  document.getElementById('status').textContent = text;
};

/** An amount in minor units, as people write it. */
export function money(amount, currency) {
  if (amount === undefined) return '–';
  try {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency });
    return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    // Other shops may state a currency that there is not.
    return `${amount} ${currency ?? ''}`;
  }
}

/** An address that may be linked to; other shops may state any text. */
export const web = (address) => (/^https?:\/\//i.test(address ?? '') ? address : undefined);

export function range(prices) {
  if (!prices?.min || !prices.max) return '';
  const { min, max } = prices;
  const from = money(min.amount, min.currency);
  return min.amount === max.amount ? from : `${from} – ${money(max.amount, max.currency)}`;
}

/** A picture, or a place for one. */
export function picture(media, className) {
  const shown = (media ?? []).find(({ type, url }) => type === 'image' && web(url));
  if (!shown) return h('div', { class: `${className} blank`, 'aria-hidden': 'true' });
  return h('img', { class: className, src: shown.url, alt: shown.alt_text ?? '', width: 400, height: 400, loading: 'lazy' });
}

/** A text of the gateway, with what it quotes set as such. */
export const quoting = (text) => text.split('`').map((part, at) => (at % 2 === 1 ? h('code', {}, part) : part));

/** What a call was refused for. */
export function refused(answer) {
  const messages = answer?.messages?.map(({ content }) => content) ?? [];
  const texts = messages.length > 0 ? messages : [answer?.content ?? 'The response of the gateway cannot be read.'];
  return h('div', { class: 'note alarm', role: 'alert' }, texts.map((text) => h('p', {}, quoting(text))), answer?.accepted && h('p', { class: 'quiet' }, `Accepted: ${answer.accepted}`));
}

export const heading = (text, ...rest) => h('div', { class: 'heading' }, h('h1', { tabindex: '-1' }, text), ...rest);

/** Shows a view. The focus goes to its heading if the buyer has gone there, and else stays where it was. */
export function show(...content) {
  const moved = place.dataset.at !== location.hash;
  const { activeElement: before } = document;
  const stays = place.contains(before) && before.id;
  place.replaceChildren(...content.flat().filter((part) => part));
  place.dataset.at = location.hash;
  if (moved && before !== query) place.querySelector('h1')?.focus();
  else if (stays) (document.getElementById(stays) ?? place.querySelector('h1'))?.focus();
}

/** Draws again, and shows what goes wrong on the way. */
export const guarded = (work) => Promise.resolve().then(work).catch((error) => show(heading('No response'), h('p', { class: 'note alarm', role: 'alert' }, error.message)));
