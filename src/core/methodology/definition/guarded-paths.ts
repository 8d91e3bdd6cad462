/**
 * The paths that a result must not change, or may change only with a person's approval. Drafts, worktrees, submissions and
 * promotion all use this list. It also guards files from a sync, because these are promoted in the same way. Under the policy
 * `evidence: verified` the files of checks are guarded too (`core/engine/guarded-check-files.ts`).
 */

/** Folders that belong to git, the workspace and the CLI. Nothing is promoted into them, at any depth. */
const RESERVED_FOLDERS: ReadonlySet<string> = new Set(['.git', '.ai-workspace', '.genesis']);

/** Files and folders that configure other programs, at any depth. */
const TOOL_CONFIG_NAMES: ReadonlySet<string> = new Set([
  // Coding agents: settings, hooks, tools and instructions. Agents read those in subfolders too.
  ...['.claude', '.mcp.json', 'claude.md', 'claude.local.md'],
  ...['.codex', 'agents.md', 'agents.override.md'],
  ...['.gemini', 'gemini.md'],
  ...['.windsurf', '.windsurfrules', '.clinerules', '.roo', '.kiro', '.amazonq', '.aider.conf.yml'],
  // Editors and shells: settings, tasks, instructions, and what runs when the folder is opened or entered.
  ...['.cursor', '.cursorrules', '.vscode', '.idea', '.zed', '.devcontainer', '.devcontainer.json', '.envrc'],
  // Package managers: registries, and the shell and the files they run.
  ...['.npmrc', '.yarnrc', '.yarnrc.yml', '.pnpmfile.cjs'],
  // Continuous integration.
  ...['.github', '.gitlab-ci.yml', '.circleci', 'jenkinsfile'],
  // Git: filters, merge drivers and the addresses of submodules.
  ...['.gitattributes', '.gitmodules'],
  // Git hooks: the file names that git runs, in any folder, because `core.hooksPath` may name any; common values of that
  // setting; and the files that hook managers read.
  ...['applypatch-msg', 'pre-applypatch', 'post-applypatch', 'pre-commit', 'pre-merge-commit'],
  ...['prepare-commit-msg', 'commit-msg', 'post-commit', 'pre-rebase', 'post-checkout', 'post-merge'],
  ...['pre-push', 'reference-transaction', 'pre-auto-gc', 'post-rewrite', 'sendemail-validate'],
  ...['fsmonitor-watchman', 'post-index-change'],
  ...['.githooks', 'githooks', '.git-hooks', 'git-hooks', '.husky', '.lefthook', '.lefthook-local'],
  ...['.pre-commit-config.yaml', '.overcommit.yml'],
]);

/** Lefthook reads its configuration in several formats: `lefthook.yml`, `.lefthook.toml`, `lefthook-local.json`. */
const LEFTHOOK_CONFIG = /^\.?lefthook(?:-local)?\./;

/**
 * Files that turn a folder into a bare git repository, or configure one. Git treats every folder with `HEAD`, `objects/`
 * and `refs/` as a repository and runs the commands in its `config`, for example `core.fsmonitor` on `git status`.
 *
 * Each name counts by itself, without the other files of the result: several results may complete a repository, and the
 * project may already contain part of it. No folder becomes a repository without `HEAD`, so `objects/` and `refs/` need
 * no rule. `config` and `config.worktree` are listed because the project may already contain a bare repository. Only
 * files count: folders named `config` or `head` are common and harmless.
 */
const BARE_REPOSITORY_FILES: ReadonlySet<string> = new Set(['head', 'config', 'config.worktree']);

/** Specification folders, in the project root. */
const SPECIFICATION_FOLDERS: ReadonlySet<string> = new Set(['specification', 'spec']);
/** Folders of decision records. They count at any depth, since decisions are kept near the code they are about. */
const DECISION_FOLDERS: ReadonlySet<string> = new Set(['adrs', 'decisions']);

const IGNORED_BY_FILE_SYSTEMS = /\p{Default_Ignorable_Code_Point}/gu;
/** Windows 8.3 alias of a longer name: `GENESI~1` for `.genesis`, `GE1A2B~1` if that is taken. */
const WINDOWS_SHORT_NAME = /^(?=[^.]{3,8}(?:\.|$))[^.]+~\d+(?:\.[^.]{0,3})?$/;

/**
 * Maps all spellings that some file system treats as one name to the same text. Upper case comes first: `ß` and `ss`,
 * `ı` and `i` are equal only in upper case, as on APFS and NTFS.
 */
export const caseFoldedPath = (path: string): string =>
  path.normalize('NFKC').replace(IGNORED_BY_FILE_SYSTEMS, '').toUpperCase().toLowerCase();

export const isReservedName = (name: string): boolean => RESERVED_FOLDERS.has(caseFoldedPath(name));

/** Whether a name may be the 8.3 alias of another file; which one cannot be determined. */
export const isWindowsShortName = (name: string): boolean => WINDOWS_SHORT_NAME.test(name);

/** The paths that configure other programs. */
export const toolConfigPaths = (paths: readonly string[]): string[] => paths.filter(isToolConfig);

export function isToolConfig(path: string): boolean {
  const names = segmentsOf(path);
  return BARE_REPOSITORY_FILES.has(names.at(-1) ?? '') || names.some(isToolConfigName);
}

const isToolConfigName = (name: string): boolean =>
  TOOL_CONFIG_NAMES.has(name) ||
  LEFTHOOK_CONFIG.test(name) ||
  RESERVED_FOLDERS.has(name) ||
  isWindowsShortName(name);

/** Whether a path belongs to the specification or the decisions, whose changes need a person if the project requires it. */
export function isSpecification(path: string): boolean {
  const names = segmentsOf(path);
  // A path with `..` may lead into the specification.
  if (names.includes('..')) return true;
  return names.some(
    (name, index) => DECISION_FOLDERS.has(name) || (index === 0 && SPECIFICATION_FOLDERS.has(name)),
  );
}

/** The names in a path, normalized: Windows drops trailing dots and spaces, and treats what follows a colon as a stream. */
function segmentsOf(path: string): string[] {
  const names = caseFoldedPath(path.replaceAll('\\', '/')).split('/');
  return names
    .map((name) => (/^\.\. *$/.test(name) ? '..' : name.replace(/:.*$/, '').replace(/[. ]+$/, '')))
    .filter((name) => name !== '');
}

const PATHS_SHOWN_MAX = 10;

/** Why a person has to decide, with the paths. `count`: the total, if `paths` is not complete. */
export function toolConfigText(paths: readonly string[], count = paths.length): string {
  const shown = paths.slice(0, PATHS_SHOWN_MAX);
  const more = count > shown.length ? ` and ${count - shown.length} more` : '';
  return `the result changes files that configure other programs: ${shown.join(', ')}${more}`;
}
