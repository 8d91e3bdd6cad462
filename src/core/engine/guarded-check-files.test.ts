import { describe, expect, test } from 'vitest';
import { checkFilePaths, checkFilesText } from './guarded-check-files.js';

const check = (command: string) => ({ type: 'deterministic', command }) as const;
const isGuarded = (path: string, command = 'npm test', is_new = false) =>
  checkFilePaths([{ path, is_new }], [check(command)]).length > 0;

describe('a candidate changes its own checks', () => {
  test.each([
    ['src/cart.test.ts'],
    ['src/cart.spec.jsx'],
    ['pkg/cart_test.go'],
    ['test_cart.py'],
    ['tests/helpers/data.json'],
    ['src/__tests__/cart.js'],
    ['src/test/java/CartTest.java'],
    ['SRC/Cart.TEST.ts'],
    ['lib/tests.js'],
    ['src/spec.ts'],
    ['shop/tests.py'],
    ['src/test.ts'],
  ])('if %s existed before, and not if it is new', (path) => {
    expect([isGuarded(path), isGuarded(path, 'npm test', true)]).toEqual([true, false]);
  });

  test.each([
    ['package.json'],
    ['.gitignore'],
    ['src/.gitignore'],
    ['packages/cart/package.json'],
    ['Makefile'],
    ['tests/conftest.py'],
    ['pyproject.toml'],
    ['vitest.config.ts'],
    ['jest.setup.js'],
    ['.eslintrc.json'],
    ['tsconfig.build.json'],
    ['Cargo.toml'],
    ['pytest.py'],
    ['.pytest.ini'],
    ['pytest.toml'],
    ['sitecustomize.py'],
    ['.mocharc.jsonc'],
    ['.mocharc.mjs'],
    ['.nycrc.json'],
    ['.c8rc'],
    ['.babelrc'],
    ['bunfig.toml'],
    ['deno.json'],
    ['.cargo/config.toml'],
    ['.taprc'],
    ['tox.toml'],
    ['.justfile'],
    ['Taskfile.yaml'],
    ['turbo.json'],
    ['nx.json'],
    ['project.json'],
    ['node_modules/.bin/node'],
    ['packages/a/node_modules/x/index.js'],
    ['.venv/bin/python'],
    ['vendor/bundle/ruby/x.rb'],
    ['target/debug/deps/cart'],
  ])('if %s is changed or new', (path) => {
    expect([isGuarded(path), isGuarded(path, 'npm test', true)]).toEqual([true, true]);
  });

  test.each([
    ['scripts/check.sh', './scripts/check.sh --all'],
    ['scripts/check.sh', 'cd scripts && sh check.sh'],
    ['scripts/check.mjs', 'node scripts/check'],
    ['tools/check.py', 'python -m tools.check'],
    ['ci/lint.toml', 'ruff check --config=ci/lint.toml src'],
    ['Scripts/Check.sh', 'sh "scripts/check.sh"'],
    ['test.js', 'npm test'],
    ['check.js', 'node check'],
    ['check.py', 'python -m check'],
    ['ci/check.py', 'cd ci && python3 -m check'],
    ['tools/check/__main__.py', 'python -m tools.check'],
    ['tools/__init__.py', 'python -m tools.check'],
    ['pytest/__main__.py', 'python -m pytest tests'],
    ['tools/check/index.js', 'node --no-warnings tools/check'],
    ['tools/hook/index.js', 'node -r ./tools/hook app.js'],
    ['tools/check.sh', 'sh tools//check.sh'],
    ['tools/check.sh', 'sh tools/./check.sh'],
    ['tools/check.sh', 'sh tools/../tools/check.sh'],
  ])('if the command names %s: %s', (path, command) => {
    expect(isGuarded(path, command, true)).toBe(true);
  });

  test.each([
    ['src/cart.ts', 'npm test'],
    ['src/cart.ts', 'eslint src'],
    ['src/index.ts', 'eslint src'],
    ['src/__init__.py', 'python -m mypy src'],
    ['src/target/x86.rs', 'cargo test'],
    ['src/check.ts', 'ruff check'],
    ['src/contest.ts', 'npm test'],
    ['docs/testing.md', 'npm test'],
    ['src/check.sh.md', 'sh scripts/check.sh'],
  ])('but not by %s under %s', (path, command) => {
    expect(isGuarded(path, command)).toBe(false);
  });

  test('only if the edge has a deterministic check', () => {
    expect(checkFilePaths([{ path: 'package.json', is_new: false }], [{ type: 'agent' }])).toEqual([]);
    expect(checkFilePaths([{ path: 'package.json', is_new: false }], [])).toEqual([]);
  });

  test('and the message about it names the first paths', () => {
    expect(checkFilesText(['a', 'b'])).toBe('the result changes checks or tests: a, b');
    expect(checkFilesText(['a'], 3)).toBe('the result changes checks or tests: a and 2 more');
  });
});
