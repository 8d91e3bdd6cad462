import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const START = ['README.md', 'CONTRIBUTING.md'];

const entryOf = (path: string) => statSync(join(ROOT, path), { throwIfNoEntry: false });

/** What a page links to in this repository. */
function linksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/```.*?```|`[^`\n]*`/gs, '');
  const targets = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target)).map((target) => join(page, '..', target));
}

/** The page that a link leads to; for a folder, the README in it. */
const pageOf = (link: string): string => (entryOf(link)?.isDirectory() ? join(link, 'README.md') : link);

// req: OPS-002
test('every page of docs/ can be reached from the README, and no link is broken', () => {
  const reached = new Set(START);
  const broken: string[] = [];
  for (const page of reached) {
    for (const link of linksOf(page)) {
      const target = pageOf(link);
      if (entryOf(link) === undefined) broken.push(`${page}: ${link}`);
      else if (target.endsWith('.md') && entryOf(target) !== undefined) reached.add(target);
    }
  }
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  expect(broken).toEqual([]);
  expect(pages.filter((page) => !reached.has(page))).toEqual([]);
});
