import { build, type Rollup } from 'vite';
import { expect, test } from 'vitest';

const PACKAGE_NAME = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/;

/** Packages without a licence file, whose licence does not require that its text is included. */
const WITHOUT_TEXT = ['wouter'];

test('licences.txt has every package that is bundled in the page, with its licence', async () => {
  const built = await build({
    configFile: 'dashboard/vite.config.ts',
    logLevel: 'error',
    build: { write: false },
  });
  const { output } = built as Rollup.RollupOutput;
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  const bundled = new Set(modules.flatMap((id) => PACKAGE_NAME.exec(id)?.[1] ?? []));
  expect(bundled).toContain('react-dom');
  const file = output.find(({ fileName }) => fileName === 'licences.txt');
  const sections = String(file?.type === 'asset' ? file.source : '')
    .split(/^## /m)
    .slice(1);
  const textOf = new Map(sections.map((section) => [section.split(' - ')[0], section]));
  expect([...bundled].filter((name) => !textOf.has(name))).toEqual([]);
  const withoutText = [...bundled].filter((name) => (textOf.get(name) ?? '').length < 200);
  expect(withoutText).toEqual(WITHOUT_TEXT);
});
