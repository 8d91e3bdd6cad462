/**
 * The only list of paths that a result must not change, or only with human approval. Drafts, worktrees, submissions and
 * promotion all use it; files from a sync are promoted like any others.
 */

/** Folders that belong to git, the workspace and the CLI. Nothing is promoted into them, at any depth. */
const RESERVED_FOLDERS: ReadonlySet<string> = new Set(['.git', '.ai-workspace', '.genesis']);

/** Files and folders that configure other programs, at any depth. */
const TOOL_CONFIG_NAMES: ReadonlySet<string> = new Set([
  // Coding agents: settings, hooks, tools and instructions. Agents read those in subfolders too.
  ...['.claude', '.mcp.json', 'claude.md', 'claude.local.md'],
  ...['.codex', 'agents.md', 'agents.override.md'],
  ...['.gemini', 'gemini.md'],
  '.github',
  // Git hooks: common values of `core.hooksPath`, and the files that hook managers read.
  ...['.githooks', 'githooks', '.git-hooks', 'git-hooks', '.husky', '.lefthook'],
  ...['lefthook.yml', 'lefthook.yaml', '.lefthook.yml', '.lefthook.yaml', '.pre-commit-config.yaml'],
]);

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

export const isToolConfig = (path: string): boolean =>
  segmentsOf(path).some(
    (name) => TOOL_CONFIG_NAMES.has(name) || RESERVED_FOLDERS.has(name) || isWindowsShortName(name),
  );

/** Whether a path belongs to the specification or the decisions, whose changes need a human if the project requires it. */
export function isSpecification(path: string): boolean {
  const names = segmentsOf(path);
  // The target of `..` is unknown.
  if (names.includes('..')) return true;
  return names.some(
    (name, at) => DECISION_FOLDERS.has(name) || (at === 0 && SPECIFICATION_FOLDERS.has(name)),
  );
}

/** The names in a path, normalised: Windows drops trailing dots and spaces, and treats what follows a colon as a stream. */
function segmentsOf(path: string): string[] {
  const names = caseFoldedPath(path.replaceAll('\\', '/')).split('/');
  return names
    .map((name) => (/^\.\. *$/.test(name) ? '..' : name.replace(/:.*$/, '').replace(/[. ]+$/, '')))
    .filter((name) => name !== '');
}

const PATHS_SHOWN_MAX = 10;

/** Why a human is asked, with the paths. `count`: the total, if `paths` is not complete. */
export function toolConfigMessage(paths: readonly string[], count = paths.length): string {
  const shown = paths.slice(0, PATHS_SHOWN_MAX);
  const more = count > shown.length ? ` and ${count - shown.length} more` : '';
  return `it changes what other programs take orders from: ${shown.join(', ')}${more}`;
}
