import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** No serious or critical fault of accessibility. `ignored`: rules that a viewer made by others breaks. */
export async function expectAccessible(page: Page, ignored: string[] = []): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).disableRules(ignored).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(serious.map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(' '))])).toEqual([]);
}

/** Nothing makes the page itself scroll sideways. */
export async function expectFitsWidth(page: Page): Promise<void> {
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  expect(overflow).toBeLessThanOrEqual(0);
}
