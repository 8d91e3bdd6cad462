import { AxeBuilder } from '@axe-core/playwright';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * No serious or critical fault of accessibility, and nothing wider than the window. `ignored`: rules that a viewer made by
 * others breaks.
 */
export async function expectAccessible(page: Page, ignored: string[] = []): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).disableRules(ignored).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(serious.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(' '))])).toEqual([]);
  const excessWidth = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  expect(excessWidth).toBeLessThanOrEqual(0);
}

/** All columns are within the region: nothing has to be scrolled sideways. */
export async function expectNotCut(region: Locator): Promise<void> {
  const [inner, outer] = await region.evaluate((element) => [element.scrollWidth, element.clientWidth]);
  expect(inner).toBe(outer);
}
