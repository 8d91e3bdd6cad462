import { AxeBuilder } from '@axe-core/playwright';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * Expects no serious or critical accessibility fault, and no content wider than the window. `ignored`: rules that a
 * third-party component breaks.
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

/** Expects that all columns fit into the region, without sideways scrolling. */
export async function expectNotCut(region: Locator): Promise<void> {
  const [inner, outer] = await region.evaluate((element) => [element.scrollWidth, element.clientWidth]);
  expect(inner).toBe(outer);
}
