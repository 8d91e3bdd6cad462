import { describe, expect, it, test } from 'vitest';
import {
  caseFoldedPath,
  isReservedName,
  isSpecification,
  isWindowsShortName,
  toolConfigPaths,
  toolConfigText,
} from './guarded-paths.js';

describe('a reserved folder name', () => {
  it.each([
    '.git',
    '.GIT',
    '.ai-workspace',
    '.AI-Workspace',
    '.genesis',
    '.Genesis',
    '.ＧＥＮＥＳＩＳ',
    '.gene\u017fis',
    '.genes\u0131s',
    '.gen\u00adesis',
  ])('is reserved as %j', (name) => {
    expect(isReservedName(name)).toBe(true);
  });

  it.each(['.gitignore', 'genesis', '.genesis-notes', 'ai-workspace'])('is not %j', (name) => {
    expect(isReservedName(name)).toBe(false);
  });
});

it.each([
  ['GENESI~1', true],
  ['GE1A2B~1', true],
  ['GENES~10', true],
  ['git~1', true],
  ['MCP~1.JSO', true],
  ['a-longer-name~1', false],
  ['notes~', false],
  ['v1~2beta', false],
  ['archive~1.html', false],
])('checks whether %j may be a Windows short name: %s', (name, isShort) => {
  expect(isWindowsShortName(name)).toBe(isShort);
});

describe('the configuration of other programs', () => {
  it.each([
    '.claude/settings.json',
    'a/b/.claude/x',
    '.CODEX/config.toml',
    '.gemini/x',
    '.mcp.json',
    'sub/.MCP.JSON',
    'CLAUDE.md',
    'docs/claude.md',
    'Agents.md',
    'GEMINI.md',
    '.github/CODEOWNERS',
    '.githooks/pre-commit',
    '.husky/_/husky.sh',
    'lefthook.yml',
    '.claude./settings.json',
    '.claude /settings.json',
    '.claude::$INDEX_ALLOCATION/settings.json',
    'sub\\.claude\\settings.json',
    'CLAUDE~1/settings.json',
    'CLAUDE.md.',
    'lefthook.toml',
    '.lefthook.json',
    'lefthook-local.yml',
    '.config/.Lefthook-Local.yaml',
    '.lefthook-local/pre-commit/check.sh',
    '.overcommit.yml',
    '.gitlab-ci.yml',
    '.circleci/config.yml',
    'Jenkinsfile',
    '.cursor/rules/a.mdc',
    'packages/api/.vscode/tasks.json',
    '.gitattributes',
    'sub/.gitmodules',
    'hooks/pre-commit',
    'tools/hooks/Post-Checkout',
    '.cursorrules',
    '.devcontainer/devcontainer.json',
    'packages/api/.npmrc',
    '.envrc',
  ])('includes %j', (path) => {
    expect(toolConfigPaths(['src/a.ts', path])).toEqual([path]);
  });

  it.each([
    'src/claude.ts',
    'CLAUDE.md.txt',
    'claude/x',
    'docs/agents.mdx',
    'github/x',
    'hooks/useUser.ts',
    'hooks/pre-commit.md',
    'bin/update',
    'mcp.json',
    'src/lefthook/run.ts',
    'docs/lefthook-notes.md',
    'vscode/extension.ts',
    'circleci/x',
    'Jenkinsfile.md',
    '.gitignore',
  ])('does not include %j', (path) => {
    expect(toolConfigPaths([path])).toEqual([]);
  });

  it.each([
    'HEAD',
    'docs/assets/HEAD',
    'docs/assets/head',
    'docs/assets/ＨＥＡＤ',
    'docs/assets/HE\u200bAD',
    'docs/assets/HEAD.',
    'docs\\assets\\HEAD',
    'docs/assets/config',
    'docs/assets/Config',
    'docs/assets/config.worktree',
  ])('includes a file that makes or configures a bare git repository: %j', (path) => {
    expect(toolConfigPaths(['docs/assets/objects/keep', path, 'docs/assets/refs/keep'])).toEqual([path]);
  });

  it.each([
    'config/database.yml',
    'src/config.ts',
    'src/components/Head/index.tsx',
    'src/HEAD.ts',
    'src/objects/user.ts',
    'docs/refs/a.md',
  ])('does not include an ordinary file with a similar name: %j', (path) => {
    expect(toolConfigPaths([path])).toEqual([]);
  });

  it('is listed in a message, which counts the files of a long list that it does not show', () => {
    expect(toolConfigText(['CLAUDE.md', '.mcp.json'])).toBe(
      'the result changes files that configure other programs: CLAUDE.md, .mcp.json',
    );
    const many = Array.from({ length: 12 }, (_, index) => `${index}/CLAUDE.md`);
    expect(toolConfigText(many.slice(0, 11), 12)).toMatch(/9\/CLAUDE\.md and 2 more$/);
  });
});

test.each([
  ['specification/INTENT.md', true],
  ['Specification/x', true],
  ['spec/a/b', true],
  ['adrs/ADR-1.md', true],
  ['docs/decisions/0001.md', true],
  ['imp/design/ADRs/ADR-1.md', true],
  ['ＳＰＥＣ/a', true],
  ['sp\u200bec/a', true],
  ['spec./a', true],
  ['./spec/a', true],
  ['src/../spec/a', true],
  ['src/spec/a.test.ts', false],
  ['src/specification.ts', false],
  ['src/decisions.ts', false],
  ['special/a', false],
])('checks whether %j is part of the specification: %s', (path, isPartOfSpecification) => {
  expect(isSpecification(path)).toBe(isPartOfSpecification);
});

it('folds two spellings of one name to the same string, like case-insensitive file systems', () => {
  for (const [one, other] of [
    ['Straße', 'STRASSE'],
    ['ﬁle', 'FILE'],
    ['İ', 'i\u0307'],
    ['K', 'k'],
  ] as const) {
    expect(caseFoldedPath(one)).toBe(caseFoldedPath(other));
  }
});
