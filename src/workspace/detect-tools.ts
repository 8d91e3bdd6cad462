import { join } from 'node:path';
import { readRegularFile } from './regular-file.js';

const FILE_BYTES_MAX = 1024 * 1024;

/**
 * The language and tools of a project, guessed from its files. Tool names are those of `project_constraints.yml`.
 */
export interface DetectedTools {
  readonly language: string | null;
  readonly tools: Readonly<Record<string, string>>;
}

/** Reads the first manifest found among those of the usual ecosystems. Runs nothing. */
export async function detectTools(root: string): Promise<DetectedTools> {
  for (const [file, guess] of DETECTORS) {
    const bytes = readRegularFile(join(root, file), FILE_BYTES_MAX);
    if (typeof bytes !== 'string') return guess(bytes.toString('utf8'));
  }
  return { language: null, tools: {} };
}

const DETECTORS: readonly [string, (text: string) => DetectedTools][] = [
  ['package.json', detectFromPackage],
  ['pyproject.toml', detectFromPyproject],
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

function detectFromPackage(text: string): DetectedTools {
  const { scripts, dependencies, devDependencies } = parsePackage(text);
  const hasDependency = (name: string): boolean =>
    Object.hasOwn(dependencies ?? {}, name) || Object.hasOwn(devDependencies ?? {}, name);
  const hasScript = (name: string): boolean => Object.hasOwn(scripts ?? {}, name);
  const isTypeScript = hasDependency('typescript');
  const tools: Record<string, string> = {};
  if (hasScript('test')) tools.test_runner = 'npm test';
  else if (hasDependency('vitest')) tools.test_runner = 'npx vitest run';
  else if (hasDependency('jest')) tools.test_runner = 'npx jest';
  if (hasDependency('vitest')) tools.coverage = 'npx vitest run --coverage';
  else if (hasDependency('jest')) tools.coverage = 'npx jest --coverage';
  if (hasDependency('@biomejs/biome'))
    Object.assign(tools, { linter: 'npx biome lint', formatter: 'npx biome format' });
  if (hasDependency('eslint')) tools.linter = 'npx eslint .';
  if (hasDependency('prettier')) tools.formatter = 'npx prettier --check .';
  if (isTypeScript)
    Object.assign(tools, { type_checker: 'npx tsc --noEmit', syntax_checker: 'npx tsc --noEmit' });
  if (hasScript('build')) tools.build = 'npm run build';
  return { language: isTypeScript ? 'typescript' : 'javascript', tools };
}

function parsePackage(text: string): PackageFile {
  try {
    return (JSON.parse(text) as PackageFile | null) ?? {};
  } catch {
    return {};
  }
}

function detectFromPyproject(text: string): DetectedTools {
  const mentions = (tool: string): boolean => text.includes(tool);
  const tools: Record<string, string> = { syntax_checker: 'python -m compileall -q .' };
  tools.test_runner = mentions('pytest') ? 'pytest' : 'python -m unittest';
  if (mentions('pytest-cov')) tools.coverage = 'pytest --cov';
  if (mentions('ruff')) Object.assign(tools, { linter: 'ruff check .', formatter: 'ruff format --check .' });
  else if (mentions('flake8')) tools.linter = 'flake8';
  if (mentions('black')) tools.formatter = 'black --check .';
  if (mentions('mypy')) tools.type_checker = 'mypy .';
  else if (mentions('pyright')) tools.type_checker = 'pyright';
  return { language: 'python', tools };
}
