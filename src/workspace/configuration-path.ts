/** Which entries of `.ai-workspace/` are configuration: one rule for reading the files and for noticing that they changed. */

/** Maximum number of levels of folders, with `.ai-workspace/` as the first. */
export const DEPTH_MAX = 8;

/** Folders with work products, which contain no configuration, relative to `.ai-workspace/`. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  'events',
  'agents',
  'snapshots',
  'reviews',
  'features/fold-back',
]);

/** Whether an entry is left out, with everything below it. `path` is relative to `.ai-workspace/`, separated by `/`. */
export const isSkippedPath = (path: string): boolean =>
  path.slice(path.lastIndexOf('/') + 1).startsWith('.') || SKIPPED_FOLDERS.has(path);

/** Whether the name of a file is that of configuration. */
export const hasConfigurationName = (path: string): boolean => /\.ya?ml$/.test(path);

/** The path of an entry relative to `.ai-workspace/`, from the path of its folder: `''` for `.ai-workspace/` itself. */
export const pathInFolder = (folder: string, name: string): string =>
  folder === '' ? name : `${folder}/${name}`;

/** Whether a link at `path` leads to a folder above itself, so that following it would never end. Both paths are absolute. */
export const leadsToAncestor = (path: string, target: string): boolean => `${path}/`.startsWith(`${target}/`);
