import { join } from 'node:path';
import { readRegularFile } from './regular-file.js';

const FILE_BYTES_MAX = 1024 * 1024;

/** The language and tools of a project. Tools are named as in `project_constraints.yml`. */
export interface DetectedTools {
  readonly language: string | null;
  readonly tools: Readonly<Record<string, string>>;
}

/** Detects tools from the first manifest that can be read, such as `package.json`. Runs nothing. */
export async function detectTools(root: string): Promise<DetectedTools> {
  for (const [file, guess] of DETECTORS) {
    const bytes = readRegularFile(join(root, file), FILE_BYTES_MAX);
    if (typeof bytes !== 'string') return guess(bytes.toString('utf8'));
  }
  return { language: null, tools: {} };
}

/** A tool, its command, and whether the project uses the command. Of several used commands the last one counts. */
type ToolGuess = readonly [tool: string, command: string, isUsed: boolean];

const usedTools = (guesses: readonly ToolGuess[]): Record<string, string> =>
  Object.fromEntries(guesses.filter(([, , isUsed]) => isUsed).map(([tool, command]) => [tool, command]));

const GO_TOOLS = {
  test_runner: 'go test ./...',
  coverage: 'go test -cover ./...',
  linter: 'go vet ./...',
  formatter: 'gofmt -l .',
  syntax_checker: 'go build ./...',
  build: 'go build ./...',
};
const RUST_TOOLS = {
  test_runner: 'cargo test',
  linter: 'cargo clippy',
  formatter: 'cargo fmt --check',
  syntax_checker: 'cargo check',
  build: 'cargo build',
};

const DETECTORS: readonly [string, (text: string) => DetectedTools][] = [
  ['package.json', detectFromPackage],
  ['pyproject.toml', detectFromPyproject],
  ['go.mod', () => ({ language: 'go', tools: GO_TOOLS })],
  ['Cargo.toml', () => ({ language: 'rust', tools: RUST_TOOLS })],
];

function detectFromPackage(text: string): DetectedTools {
  const { scripts, dependencies, devDependencies } = parsePackage(text);
  const hasScript = (name: string): boolean => Object.hasOwn(scripts ?? {}, name);
  const hasDependency = (name: string): boolean =>
    Object.hasOwn(dependencies ?? {}, name) || Object.hasOwn(devDependencies ?? {}, name);
  const tools = usedTools([
    ['test_runner', 'npx jest', hasDependency('jest')],
    ['test_runner', 'npx vitest run', hasDependency('vitest')],
    ['test_runner', 'npm test', hasScript('test')],
    ['coverage', 'npx jest --coverage', hasDependency('jest')],
    ['coverage', 'npx vitest run --coverage', hasDependency('vitest')],
    ['linter', 'npx biome lint', hasDependency('@biomejs/biome')],
    ['linter', 'npx eslint .', hasDependency('eslint')],
    ['formatter', 'npx biome format', hasDependency('@biomejs/biome')],
    ['formatter', 'npx prettier --check .', hasDependency('prettier')],
    ['type_checker', 'npx tsc --noEmit', hasDependency('typescript')],
    ['syntax_checker', 'npx tsc --noEmit', hasDependency('typescript')],
    ['build', 'npm run build', hasScript('build')],
  ]);
  return { language: hasDependency('typescript') ? 'typescript' : 'javascript', tools };
}

function parsePackage(text: string): Readonly<Record<string, object | undefined>> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function detectFromPyproject(text: string): DetectedTools {
  const mentionsTool = (tool: string): boolean => text.includes(tool);
  const tools = usedTools([
    ['syntax_checker', 'python -m compileall -q .', true],
    ['test_runner', 'python -m unittest', true],
    ['test_runner', 'pytest', mentionsTool('pytest')],
    ['coverage', 'pytest --cov', mentionsTool('pytest-cov')],
    ['linter', 'flake8', mentionsTool('flake8')],
    ['linter', 'ruff check .', mentionsTool('ruff')],
    ['formatter', 'ruff format --check .', mentionsTool('ruff')],
    ['formatter', 'black --check .', mentionsTool('black')],
    ['type_checker', 'pyright', mentionsTool('pyright')],
    ['type_checker', 'mypy .', mentionsTool('mypy')],
  ]);
  return { language: 'python', tools };
}
