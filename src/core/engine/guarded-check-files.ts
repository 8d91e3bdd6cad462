import type { EffectiveCheck } from '../contract/checks.js';
import type { AuthorityDecision } from '../methodology/definition/authority.js';
import { caseFoldedPath } from '../methodology/definition/guarded-paths.js';

/**
 * Whether a candidate changes its own checks: their scripts, tests or test configuration. Under the policy `evidence:
 * verified` such a candidate needs a person: a runner only proves that the checks passed, not that they are still the
 * same checks.
 *
 * Only paths are examined. A folder in a command (`eslint src`) is usually the product that is judged, so its
 * files are not guarded. Modules that a test imports are not guarded either.
 */

export interface ChangedFile {
  readonly path: string;
  /** The file did not exist when the work began. */
  readonly is_new: boolean;
}

/** Folders whose files are tests, at any depth. */
const TEST_FOLDERS: ReadonlySet<string> = new Set(['test', 'tests', '__tests__', 'spec', 'specs', 'e2e']);
/**
 * Names of test files: `cart.test.ts`, `cart_test.go`, `test_cart.py`, `CartTest.java`, `cart.spec.js`, `cart_spec.rb`,
 * `test.js`, `tests.py`.
 */
const TEST_FILE =
  /(?:^test[_-].|(?:^|[._-])(?:test|tests|spec|specs)\.[^/]+$|tests?\.(?:java|kt|cs|swift|scala|php)$)/;

/**
 * Folders of installed programs and modules, at any depth. Checks run what these folders contain rather than the system's
 * programs, so a new file there can replace any program of a check.
 */
const DEPENDENCY_FOLDERS: ReadonlySet<string> = new Set([
  ...['node_modules', 'bower_components', '.yarn', '.pnpm-store', 'pods', 'deps'],
  ...['.venv', 'venv', 'site-packages', '__pypackages__', '__pycache__', '.tox', '.nox', '.eggs'],
  ...['vendor', '.bundle', '.cargo', '.mvn', '.gradle'],
]);
/** Build outputs that later builds and checks use again. */
const BUILD_OUTPUT = /(?:^|\/)target\/(?:classes|test-classes|debug|release)\//;

/** Files that decide which tests run and what counts as passed, at any depth. New files of these names count too. */
const TEST_CONFIG_NAMES: ReadonlySet<string> = new Set([
  ...['makefile', 'gnumakefile', 'rakefile', 'gemfile', 'cmakelists.txt', '.rspec', 'go.mod', 'go.work'],
  ...['package.json', '.pnp.cjs', '.pnp.loader.mjs', 'lerna.json', 'nx.json', 'project.json', 'turbo.json'],
  ...['bunfig.toml', 'pnpm-workspace.yaml'],
  // Decides what a check sees: files that git ignores are not copied into its sandbox.
  '.gitignore',
  ...['conftest.py', 'noxfile.py', 'setup.py', 'setup.cfg', 'tox.ini', 'tox.toml', 'pyproject.toml'],
  ...['.coveragerc', 'sitecustomize.py', 'usercustomize.py', 'mypy.ini', '.mypy.ini'],
  ...['cargo.toml', 'build.rs', 'rust-toolchain', 'rust-toolchain.toml', 'clippy.toml', '.clippy.toml'],
  ...['pom.xml', 'gradlew', 'mvnw', 'gradle.properties', 'composer.json', 'codecov.yml', '.codecov.yml'],
]);
/** Names whose extension varies: `.mocharc.jsonc`, `vitest.config.ts`, `jest.setup.js`, `tsconfig.build.json`, `pytest.py`. */
const TEST_CONFIG_STEMS: readonly string[] = [
  ...[
    'vitest',
    'jest',
    'pytest',
    '.pytest',
    'tsconfig',
    'jsconfig',
    'biome',
    'deno',
    'phpunit',
    'ruff',
    '.ruff',
  ],
  ...['justfile', '.justfile', 'taskfile', 'build.gradle', 'settings.gradle', 'init.gradle'],
  ...[
    'vite',
    'playwright',
    'cypress',
    'karma',
    'ava',
    'babel',
    'eslint',
    'wdio',
    'webpack',
    'rollup',
  ].flatMap((tool) => ['config', 'setup', 'workspace'].map((kind) => `${tool}.${kind}`)),
];
/** Configuration files that end with `rc`: `.mocharc`, `.nycrc.json`, `.c8rc`, `.babelrc.js`, `.eslintrc.json`. */
const RC_FILE = /^\.(?:mocha|nyc|c8|babel|swc|eslint|tap|jshint|stylelint|pylint|istanbul)rc(?:\.[^/]+)?$/;

const INTERPRETER =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|py|ruby|perl|php|lua|sh|bash)$/;
/** Extensions that interpreters add to the name of a script or module (`node check`, `python -m check`). */
const EXTENSION = /\.(?:[cm]?[jt]s|[jt]sx|json|node|pyc?|pyz|so|sh|bash|rb|pl|php|lua|exe|cmd|bat|ps1)$/;
/** Files that an interpreter runs when it is given their folder, without extension. */
const FOLDER_ENTRIES: ReadonlySet<string> = new Set(['index', '__main__', '__init__']);

/** The paths among `files` that take part in judging the candidate. Empty if none of the checks is deterministic. */
export function checkFilePaths(
  files: readonly ChangedFile[],
  checks: readonly Pick<EffectiveCheck, 'type' | 'command'>[],
): string[] {
  const commands = checks.filter(({ type }) => type === 'deterministic').map(({ command = '' }) => command);
  if (commands.length === 0) return [];
  const words = {
    named: new Set(commands.flatMap((command) => wordsOf(command).flatMap(moduleSpellings))),
    executed: new Set(
      commands.flatMap((command) => executedWords(wordsOf(command)).flatMap(moduleSpellings)),
    ),
  };
  return files.filter((file) => isCheckFile(file, words)).map(({ path }) => path);
}

/**
 * Words of commands that may be paths. `named`: all of them; one without `.` and `/` matches only files in the root folder.
 * `executed`: those that an interpreter runs. An executed word matches a path in any folder, and also a folder, which stands
 * for its entry file.
 */
interface CommandWords {
  readonly named: ReadonlySet<string>;
  readonly executed: ReadonlySet<string>;
}

function isCheckFile({ path, is_new }: ChangedFile, words: CommandWords): boolean {
  const names = normalizedPath(path).split('/');
  const folders = names.slice(0, -1);
  const fileName = names.at(-1) ?? '';
  if (isTestConfig(fileName) || isNamedInCommand(names, words)) return true;
  if (folders.some((folder) => DEPENDENCY_FOLDERS.has(folder)) || BUILD_OUTPUT.test(names.join('/')))
    return true;
  const isTest = TEST_FILE.test(fileName) || folders.some((folder) => TEST_FOLDERS.has(folder));
  return isTest && !is_new;
}

const isTestConfig = (fileName: string): boolean =>
  TEST_CONFIG_NAMES.has(fileName) ||
  RC_FILE.test(fileName) ||
  TEST_CONFIG_STEMS.some((stem) => fileName === stem || fileName.startsWith(`${stem}.`));

/** The path in the one spelling that is compared: case-folded, with `/`, and without `//`, `.` and `..`. */
function normalizedPath(path: string): string {
  const names: string[] = [];
  for (const name of caseFoldedPath(path).replaceAll('\\', '/').split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names.join('/');
}

const wordsOf = (command: string): string[] => command.match(/[^\s'"`;|&<>(){}$=:,]+/g) ?? [];

/**
 * The paths that a word may mean: itself, and if it may be the name of a module (`tools.ci.check`), the path of the module
 * (`tools/ci/check`) and of the packages that are loaded with it (`tools/ci`).
 */
function moduleSpellings(word: string): string[] {
  const path = normalizedPath(word);
  if (!/^[\w-]+(?:\.[\w-]+)+$/.test(path)) return path === '' ? [] : [path];
  const names = path.split('.');
  return [path, ...names.slice(1).map((_, index) => names.slice(0, index + 2).join('/'))];
}

/**
 * Scripts and modules that interpreters run: the first word after the options. A word directly after an option is included
 * too, because it may be the value of the option or the script.
 */
function executedWords(words: readonly string[]): string[] {
  const executed: string[] = [];
  for (const [at, word] of words.entries()) {
    if (!INTERPRETER.test(caseFoldedPath(word).replace(/^.*\//, ''))) continue;
    for (let next = at + 1; next < words.length; next += 1) {
      const [previous = '', script = ''] = [words[next - 1], words[next]];
      if (script.startsWith('-') || script === 'run') continue;
      executed.push(script);
      if (previous === '-m') executed.push(script.replace(/\..*$/, ''));
      if (previous === '-m' || !previous.startsWith('-')) break;
    }
  }
  return executed;
}

/**
 * Whether a command names the file: as it is, without its extension (`node tools/check`), or by the folder
 * whose entry file it is (`node tools` runs `tools/index.js`).
 */
function isNamedInCommand(names: readonly string[], { named, executed }: CommandWords): boolean {
  for (let from = 0; from < names.length; from += 1) {
    const path = names.slice(from).join('/');
    // A single word such as `check` is usually an argument, so it names files in the root folder only.
    const isNamed = (word: string) =>
      executed.has(word) || (named.has(word) && (from === 0 || /[./]/.test(word)));
    const pathWithoutExtension = path.replace(EXTENSION, '');
    if (isNamed(path) || isNamed(pathWithoutExtension)) return true;
    const [, folder = '', entry = ''] = /^(.*)\/([^/]*)$/.exec(pathWithoutExtension) ?? [];
    if (pathWithoutExtension !== path && FOLDER_ENTRIES.has(entry) && executed.has(folder)) return true;
  }
  return false;
}

/**
 * The authority decision, escalated if the result changes files of its checks, or if required checks are omitted: then it
 * needs a person, whatever its role may do. For projects with the policy `evidence: verified`.
 */
export function escalateIfChecksChanged(
  authority: AuthorityDecision,
  files: readonly ChangedFile[],
  checks: readonly Pick<EffectiveCheck, 'type' | 'command'>[],
  omitted: readonly string[],
): AuthorityDecision {
  if (authority.decision === 'escalate' || authority.decision === 'reject') return authority;
  const paths = checkFilePaths(files, checks);
  if (paths.length > 0) return { decision: 'escalate', reason: 'changes_evaluators', paths };
  if (omitted.length === 0) return authority;
  return { decision: 'escalate', reason: 'omits_checks', omitted_checks: omitted };
}

/** Maximum number of paths or names in a message. */
const SHOWN_MAX = 10;

/** Why a person has to decide, with the names of the checks. Events of older versions have no names. */
export function omittedChecksText(names: readonly string[]): string {
  const cause = 'the profile of the feature leaves out checks or edges that the default profile requires';
  return names.length === 0 ? cause : `${cause}: ${listedText(names, names.length)}`;
}

/** Why a person has to decide, with the paths. `count`: the total, if `paths` is not complete. */
export function checkFilesText(paths: readonly string[], count = paths.length): string {
  return `the result changes checks or tests: ${listedText(paths, count)}`;
}

function listedText(names: readonly string[], count: number): string {
  const shown = names.slice(0, SHOWN_MAX);
  return `${shown.join(', ')}${count > shown.length ? ` and ${count - shown.length} more` : ''}`;
}
