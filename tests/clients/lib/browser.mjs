// What tests do in a browser with any page.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe objects to, seriously or not. */
export async function objections(page) {
  // The page itself need not run scripts; the debugger may.
  await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.ok(passes.length > 5, 'axe looked at something');
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

export async function scrollsSideways(page) {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}

/** Presses Tab until something is focused that a selector finds. */
export async function tabTo(page, selector) {
  for (let presses = 0; presses < 120; presses += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) {
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.notEqual(outline, 'none', `the focus on ${selector} can be seen`);
      return;
    }
  }
  assert.fail(`Tab leads to ${selector}`);
}

/** Widths of screens from telephones to desks, in the light and in the dark. */
export const screens = ['light', 'dark'].flatMap((colorScheme) => [390, 768, 1440].map((width) => ({ colorScheme, viewport: { width, height: 900 } })));

/** What a screen is called. */
export const named = ({ colorScheme, viewport }) => `${colorScheme}-${viewport.width}`;

/** Starts a browser, of which every request and every complaint is kept. */
export async function startBrowser() {
  const requests = [];
  const complaints = [];
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  return {
    requests,
    complaints,
    close: () => browser.close(),
    /** A page as somebody has it in front of them. */
    async open(url, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'], ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      page.on('request', (request) => requests.push(request.url()));
      page.on('pageerror', (error) => complaints.push(error.message));
      // Violations of the content security policy are reported here.
      page.on('console', (message) => {
        if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text());
      });
      const response = await page.goto(url);
      assert.equal(response.status(), 200, url);
      return page;
    },
  };
}

export const picture = (page, name, options) => page.screenshot({ path: join(process.env.LANE_DIR, `${name}.png`), ...options });

/** Nothing on the page that axe objects to, seriously or not, and nothing that scrolls sideways. */
export async function fine(page, name) {
  assert.deepEqual(await objections(page), [], name);
  assert.equal(await scrollsSideways(page), false, `${name} scrolls sideways`);
}
