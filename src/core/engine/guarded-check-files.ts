import type { EffectiveCheck } from '../contract/tasks.js';
import type { AuthorityDecision } from '../methodology/definition/authority.js';
import { caseFoldedPath } from '../methodology/definition/guarded-paths.js';

/**
 * Whether a candidate changes its own checks: their scripts, tests or test configuration. Under the policy `evidence:
 * verified` such a candidate needs a human: a runner only proves that the checks passed, not that they are still the
 * same checks.
 *
 * Only paths are examined. A folder in a command (`eslint src`) is usually the product that is judged, so its
 * files are not guarded; neither is a module that a test imports.
 */

export interface ChangedFile {
  readonly path: string;
  /** It did not exist when the work began. */
  readonly is_new: boolean;
}

/** Folders whose files are tests, at any depth. */
const TEST_FOLDERS: ReadonlySet<string> = new Set(['test', 'tests', '__tests__', 'spec', 'specs', 'e2e']);
/** `cart.test.ts`, `cart_test.go`, `test_cart.py`, `CartTest.java`, `cart.spec.js`, `cart_spec.rb`. */
const TEST_FILE = /(?:^test[_-].|[._-](?:test|tests|spec)\.[^/]+$|tests?\.(?:java|kt|cs|swift|scala|php)$)/;

/** Files that decide which tests run and what counts as passed, at any depth: also new ones. */
const TEST_CONFIG_NAMES: ReadonlySet<string> = new Set([
  ...['package.json', 'makefile', 'gnumakefile', 'justfile', 'taskfile.yml', 'rakefile', 'cmakelists.txt'],
  ...['conftest.py', 'pytest.ini', 'pyproject.toml', 'tox.ini', 'setup.cfg', 'noxfile.py', '.coveragerc'],
  ...[
    'cargo.toml',
    'build.rs',
    'build.gradle',
    'build.gradle.kts',
    'pom.xml',
    'phpunit.xml',
    'phpunit.xml.dist',
  ],
  ...['.mocharc.js', '.mocharc.cjs', '.mocharc.json', '.mocharc.yml', '.mocharc.yaml', '.rspec', '.nycrc'],
  ...['codecov.yml', '.codecov.yml', '.c8rc.json'],
]);
/** `vitest.config.ts`, `jest.setup.js`, `playwright.config.mts`, `tsconfig.json`, `eslint.config.js`, `.eslintrc.json`. */
const TEST_CONFIG_FILE =
  /^(?:(?:vitest|vite|jest|playwright|cypress|karma|ava|babel|eslint|biome|wdio)\.(?:config|setup|workspace)\.[^/]+|vitest\.[^/]+|jest\.[^/]+|\.eslintrc(?:\.[^/]+)?|biome\.jsonc?|tsconfig(?:\.[^/]+)?\.json)$/;

/** The paths among `files` that take part in judging the candidate. */
export function checkFilePaths(
  files: readonly ChangedFile[],
  checks: readonly Pick<EffectiveCheck, 'type' | 'command'>[],
): string[] {
  const commands = checks.filter(({ type }) => type === 'deterministic').map(({ command = '' }) => command);
  if (commands.length === 0) return [];
  const words = new Set(commands.flatMap(pathWords));
  return files.filter((file) => isCheckFile(file, words)).map(({ path }) => path);
}

function isCheckFile({ path, is_new }: ChangedFile, words: ReadonlySet<string>): boolean {
  const folded = caseFoldedPath(path.replaceAll('\\', '/'));
  const names = folded.split('/');
  const fileName = names.at(-1) ?? '';
  if (TEST_CONFIG_NAMES.has(fileName) || TEST_CONFIG_FILE.test(fileName)) return true;
  if (isNamedInCommand(names, words)) return true;
  const isTest = TEST_FILE.test(fileName) || names.slice(0, -1).some((folder) => TEST_FOLDERS.has(folder));
  return isTest && !is_new;
}

/** Words of commands that may be paths. An option's value counts, and so does a module's name (`python -m tools.check`). */
function pathWords(command: string): string[] {
  const words = command.match(/[^\s'"`;|&<>(){}$=:,]+/g) ?? [];
  return words.flatMap((word) => {
    const path = caseFoldedPath(word)
      .replaceAll('\\', '/')
      .replace(/^(?:\.\/)+/, '')
      .replace(/\/+$/, '');
    if (path === '' || path === '.') return [];
    return /^[\w-]+(?:\.[\w-]+)+$/.test(path) ? [path, `${path.replaceAll('.', '/')}.py`] : [path];
  });
}

/** The file itself, also relative to a folder that the command changes to, and without its extension (`node tools/check`). */
function isNamedInCommand(names: readonly string[], words: ReadonlySet<string>): boolean {
  for (let from = 0; from < names.length; from += 1) {
    const path = names.slice(from).join('/');
    if (words.has(path) && (from === 0 || /[./]/.test(path))) return true;
    const bare = path.replace(/\.[^./]+$/, '');
    if (bare !== path && bare.includes('/') && words.has(bare)) return true;
  }
  return false;
}

/** Under `verified`, a result that changes its own checks needs a human, whatever its role may do. */
export function escalateIfChecksChanged(
  authority: AuthorityDecision,
  files: readonly ChangedFile[],
  checks: readonly Pick<EffectiveCheck, 'type' | 'command'>[],
): AuthorityDecision {
  if (authority.decision === 'escalate' || authority.decision === 'reject') return authority;
  const paths = checkFilePaths(files, checks);
  return paths.length === 0 ? authority : { decision: 'escalate', reason: 'changes_evaluators', paths };
}

const PATHS_SHOWN_MAX = 10;

/** Why a human is asked, with the paths. `count`: the total, if `paths` is not complete. */
export function checkFilesMessage(paths: readonly string[], count = paths.length): string {
  const shown = paths.slice(0, PATHS_SHOWN_MAX);
  const more = count > shown.length ? ` and ${count - shown.length} more` : '';
  return `it changes its own checks or tests: ${shown.join(', ')}${more}`;
}
