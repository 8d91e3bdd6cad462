import { extname } from 'node:path';

/** The kind of a project file, derived from its path. */
export type SourceFileKind = 'specification' | 'design' | 'test' | 'code' | 'prose' | 'other';

const SPECIFICATION = /(^|\/)(specifications?|specs?|requirements)\//i;
const DESIGN = /(^|\/)(designs?|adrs?|decisions)\//i;
const TEST_FOLDER = /(^|\/)(tests?|__tests__|uat|e2e)\//i;
const TEST_NAME = /(^|\/)(test_[^/]*\.[a-z]+|[^/]*[._-](test|spec)s?\.[a-z]+|[^/]*\.feature)$/i;
const TEST_CLASS = /(^|\/)[^/]*Tests?\.(java|kt|cs|scala|swift)$/;
const PROSE = new Set(['.md', '.markdown', '.txt', '.rst', '.adoc']);
const CODE = new Set(
  `.ts .tsx .mts .cts .js .jsx .mjs .cjs .py .go .rs .java .kt .kts .scala .swift .c .h .cc .cpp .hpp .cs .fs .rb .php
   .ex .exs .erl .hs .ml .clj .lua .dart .sh .bash .ps1 .sql .tf .vue .svelte .feature`.split(/\s+/),
);

/** Checks for tests first: in some languages `spec/` holds tests, so code in it is a test. */
export function fileKind(path: string): SourceFileKind {
  const extension = extname(path).toLowerCase();
  const isCode = CODE.has(extension);
  const isTest = TEST_FOLDER.test(path) || TEST_NAME.test(path) || TEST_CLASS.test(path);
  if (isCode) return isTest || SPECIFICATION.test(path) ? 'test' : 'code';
  if (SPECIFICATION.test(path)) return 'specification';
  if (DESIGN.test(path)) return 'design';
  return PROSE.has(extension) ? 'prose' : 'other';
}
