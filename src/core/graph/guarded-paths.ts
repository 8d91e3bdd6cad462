/**
 * The one list of paths that a result may not touch, or only with the approval of a human. Drafts, worktrees,
 * submissions and promotion all ask here, and what a sync brings is promoted like everything else.
 */

/** Where git, the workspace and the CLI keep what is their own. Nothing is promoted into them, at any depth. */
const RESERVED_FOLDERS: ReadonlySet<string> = new Set(['.git', '.ai-workspace', '.genesis']);

/** Files and folders from which other programs take orders, at any depth. */
const TOOL_CONFIG_NAMES: ReadonlySet<string> = new Set([
  // Coding agents: settings, hooks, tools and instructions. They read those of subfolders too.
  ...['.claude', '.mcp.json', 'claude.md', 'claude.local.md'],
  ...['.codex', 'agents.md', 'agents.override.md'],
  ...['.gemini', 'gemini.md'],
  '.github',
  // Git hooks: where `core.hooksPath` commonly points, and the files that hook managers read.
  ...['.githooks', 'githooks', '.git-hooks', 'git-hooks', '.husky', '.lefthook'],
  ...['lefthook.yml', 'lefthook.yaml', '.lefthook.yml', '.lefthook.yaml', '.pre-commit-config.yaml'],
]);

/** Folders of the specification, from the project's root. */
const SPECIFICATION_FOLDERS: ReadonlySet<string> = new Set(['specification', 'spec']);
/** Decisions are kept near what they are about: these folders count wherever they are. */
const DECISION_FOLDERS: ReadonlySet<string> = new Set(['adrs', 'decisions']);

const IGNORED_BY_FILE_SYSTEMS = /\p{Default_Ignorable_Code_Point}/gu;
/** The second name that Windows gives to a longer one: `GENESI~1` for `.genesis`, `GE1A2B~1` where that is taken. */
const WINDOWS_SHORT_NAME = /^(?=[^.]{3,8}(?:\.|$))[^.]+~\d+(?:\.[^.]{0,3})?$/;

/**
 * The same text for all spellings that some file system takes for one name. Upper case first: only there do `ß` and
 * `ss`, `ı` and `i` meet, as they do on APFS and NTFS.
 */
export const caseFoldedPath = (path: string): string =>
  path.normalize('NFKC').replace(IGNORED_BY_FILE_SYSTEMS, '').toUpperCase().toLowerCase();

export const isReservedName = (name: string): boolean => RESERVED_FOLDERS.has(caseFoldedPath(name));

/** A name that may be another file's second name: nobody can tell which. */
export const isWindowsShortName = (name: string): boolean => WINDOWS_SHORT_NAME.test(name);

/** Those of the paths from which other programs take orders. */
export const toolConfigPaths = (paths: readonly string[]): string[] => paths.filter(isToolConfig);

export const isToolConfig = (path: string): boolean =>
  segmentsOf(path).some(
    (name) => TOOL_CONFIG_NAMES.has(name) || RESERVED_FOLDERS.has(name) || isWindowsShortName(name),
  );

/** A change here needs a human where the project says so: the specification and the decisions. */
export function isSpecification(path: string): boolean {
  const names = segmentsOf(path);
  // Nobody knows where it leads.
  if (names.includes('..')) return true;
  return names.some(
    (name, at) => DECISION_FOLDERS.has(name) || (at === 0 && SPECIFICATION_FOLDERS.has(name)),
  );
}

/** The names in a path, however it is spelled: Windows drops dots and spaces at the end, and reads what follows a colon apart. */
function segmentsOf(path: string): string[] {
  const names = caseFoldedPath(path.replaceAll('\\', '/')).split('/');
  return names
    .map((name) => (/^\.\. *$/.test(name) ? '..' : name.replace(/:.*$/, '').replace(/[. ]+$/, '')))
    .filter((name) => name !== '');
}

const PATHS_SHOWN_MAX = 10;

/** Why a human is asked, with the paths; `count`: how many there are, where not all of them are given. */
export function toolConfigMessage(paths: readonly string[], count = paths.length): string {
  const shown = paths.slice(0, PATHS_SHOWN_MAX);
  const more = count > shown.length ? ` and ${count - shown.length} more` : '';
  return `it changes what other programs take orders from: ${shown.join(', ')}${more}`;
}
