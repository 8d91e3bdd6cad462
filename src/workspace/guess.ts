import { join } from 'node:path';
import { readRegular } from './regular-file.js';

const FILE_BYTES_MAX = 1024 * 1024;

/** What the files of a project tell of how it is built. Commands by the names that `project_constraints.yml` has. */
export interface Guess {
  readonly language: string | null;
  readonly tools: Readonly<Record<string, string>>;
}

/** Looks at the manifests of the usual ecosystems, the first of them that is there. Runs nothing. */
export async function guessTools(root: string): Promise<Guess> {
  for (const [file, guess] of MANIFESTS) {
    const bytes = readRegular(join(root, file), FILE_BYTES_MAX);
    if (typeof bytes !== 'string') return guess(bytes.toString('utf8'));
  }
  return { language: null, tools: {} };
}

const MANIFESTS: readonly [string, (text: string) => Guess][] = [
  ['package.json', fromPackage],
  ['pyproject.toml', fromPyproject],
  [
    'go.mod',
    () => ({
      language: 'go',
      tools: {
        test_runner: 'go test ./...',
        coverage: 'go test -cover ./...',
        linter: 'go vet ./...',
        formatter: 'gofmt -l .',
        syntax_checker: 'go build ./...',
        build: 'go build ./...',
      },
    }),
  ],
  [
    'Cargo.toml',
    () => ({
      language: 'rust',
      tools: {
        test_runner: 'cargo test',
        linter: 'cargo clippy',
        formatter: 'cargo fmt --check',
        syntax_checker: 'cargo check',
        build: 'cargo build',
      },
    }),
  ],
];

interface PackageFile {
  readonly scripts?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, unknown>>;
  readonly devDependencies?: Readonly<Record<string, unknown>>;
}

function fromPackage(text: string): Guess {
  const { scripts, dependencies, devDependencies } = parsed(text);
  const has = (name: string): boolean =>
    Object.hasOwn(dependencies ?? {}, name) || Object.hasOwn(devDependencies ?? {}, name);
  const runs = (name: string): boolean => Object.hasOwn(scripts ?? {}, name);
  const typed = has('typescript');
  const tools: Record<string, string> = {};
  if (runs('test')) tools.test_runner = 'npm test';
  else if (has('vitest')) tools.test_runner = 'npx vitest run';
  else if (has('jest')) tools.test_runner = 'npx jest';
  if (has('vitest')) tools.coverage = 'npx vitest run --coverage';
  else if (has('jest')) tools.coverage = 'npx jest --coverage';
  if (has('@biomejs/biome'))
    Object.assign(tools, { linter: 'npx biome lint', formatter: 'npx biome format' });
  if (has('eslint')) tools.linter = 'npx eslint .';
  if (has('prettier')) tools.formatter = 'npx prettier --check .';
  if (typed) Object.assign(tools, { type_checker: 'npx tsc --noEmit', syntax_checker: 'npx tsc --noEmit' });
  if (runs('build')) tools.build = 'npm run build';
  return { language: typed ? 'typescript' : 'javascript', tools };
}

function parsed(text: string): PackageFile {
  try {
    return (JSON.parse(text) as PackageFile | null) ?? {};
  } catch {
    return {};
  }
}

function fromPyproject(text: string): Guess {
  const says = (tool: string): boolean => text.includes(tool);
  const tools: Record<string, string> = { syntax_checker: 'python -m compileall -q .' };
  tools.test_runner = says('pytest') ? 'pytest' : 'python -m unittest';
  if (says('pytest-cov')) tools.coverage = 'pytest --cov';
  if (says('ruff')) Object.assign(tools, { linter: 'ruff check .', formatter: 'ruff format --check .' });
  else if (says('flake8')) tools.linter = 'flake8';
  if (says('black')) tools.formatter = 'black --check .';
  if (says('mypy')) tools.type_checker = 'mypy .';
  else if (says('pyright')) tools.type_checker = 'pyright';
  return { language: 'python', tools };
}
