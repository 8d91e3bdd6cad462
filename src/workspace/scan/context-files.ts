import { readdirSync, realpathSync, statSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { followInProject } from '../project-link.js';
import { isAccessError, readRegularFile } from '../regular-file.js';
import { WORKSPACE_FOLDER, type Workspace, WorkspaceError } from '../workspace.js';
import { SKIPPED_FOLDERS } from './walk.js';

/** What the context of an edge consists of, besides the folders that are always read. */
interface ContextSources {
  /** Names from `context_guidance` of the edge: a path, or the name of a file or folder in one of `SEARCHED_FOLDERS`. */
  readonly required: readonly string[];
  readonly recommended: readonly string[];
  /** Paths of other files and folders, such as the file of the edge and converged assets. */
  readonly paths?: readonly string[];
}

interface FoundContextFile {
  /** Relative to the project, separated by `/`. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly need: ContextFileNeed;
}
type ContextFileNeed = 'required' | 'recommended' | 'other';

interface FoundContext {
  /** In path order. */
  readonly files: readonly FoundContextFile[];
  /** The required names for which no readable file was found. */
  readonly missing_required: readonly string[];
  /** The files and folders that are not read: path and reason. */
  readonly refused: ReadonlyMap<string, string>;
}

export const CONTEXT_LIMITS = {
  files_max: 2000,
  file_bytes_max: 1024 * 1024,
  total_bytes_max: 16 * 1024 * 1024,
  depth_max: 12,
};

const ALWAYS_READ = [`${WORKSPACE_FOLDER}/context`, 'specification', 'spec'];
const SEARCHED_FOLDERS = ['', `${WORKSPACE_FOLDER}/context/`, 'docs/', 'specification/', 'spec/', 'design/'];
const NAME_ENDINGS = ['', '.md', '.yml', '.yaml'];
/** A longer name is a sentence, which names no file. */
const NAME_LENGTH_MAX = 200;

/** Finds the context files of an edge. Follows links within the project. A link that leaves it is listed as refused. */
export function findContextFiles(
  workspace: Workspace,
  sources: ContextSources,
  limits: typeof CONTEXT_LIMITS = CONTEXT_LIMITS,
): FoundContext {
  const reader = new ContextReader(workspace, limits);
  const missing_required = sources.required.filter((name) => !reader.readNamed(name, 'required'));
  for (const name of sources.recommended) reader.readNamed(name, 'recommended');
  for (const path of [...(sources.paths ?? []), ...ALWAYS_READ]) reader.read(path, 'other', 0);
  const files = [...reader.files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, missing_required, refused: reader.refused };
}

class ContextReader {
  /** The files by their path after links are resolved, so that no file is listed twice. */
  readonly files = new Map<string, FoundContextFile>();
  readonly refused = new Map<string, string>();
  private readonly root: string;
  private totalBytes = 0;

  constructor(
    private readonly workspace: Workspace,
    private readonly limits: typeof CONTEXT_LIMITS,
  ) {
    this.root = realpathSync(workspace.root);
  }

  /** Reads every file and folder that has this name in a searched folder. Returns whether a file was found. */
  readNamed(name: string, need: ContextFileNeed): boolean {
    if (name.length > NAME_LENGTH_MAX || name.includes('\0')) return false;
    const paths = SEARCHED_FOLDERS.flatMap((folder) =>
      NAME_ENDINGS.map((ending) => `${folder}${name}${ending}`),
    );
    return paths.map((path) => this.read(path, need, 0)).some((isFound) => isFound);
  }

  /** Reads a file, or all files of a folder. Returns whether a file was found. */
  read(path: string, need: ContextFileNeed, depth: number, parents: readonly string[] = []): boolean {
    try {
      return this.readFollowed(path, need, depth, parents);
    } catch (error) {
      if (!isAccessError(error)) throw error;
      return this.refuse(path, 'no_access');
    }
  }

  private readFollowed(
    path: string,
    need: ContextFileNeed,
    depth: number,
    parents: readonly string[],
  ): boolean {
    const followed = followInProject(this.workspace, path);
    if ('fault' in followed) {
      if (followed.fault !== 'missing') this.refused.set(path, FAULT_TEXTS[followed.fault]);
      else if (depth > 0) this.refused.set(path, FAULT_TEXTS.broken);
      return false;
    }
    const target = followed.path;
    if (this.isHidden(target)) return this.refuse(path, 'hidden');
    if (this.files.has(target)) return true;
    const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory();
    if (isFolder !== true) return isFolder === false && this.readFile(path, target, need);
    if (parents.includes(target)) return this.refuse(path, 'loop');
    if (depth >= this.limits.depth_max) return this.refuse(path, 'too_deep');
    return this.readFolder(path, target, need, depth, [...parents, target]);
  }

  private readFolder(
    path: string,
    target: string,
    need: ContextFileNeed,
    depth: number,
    parents: readonly string[],
  ): boolean {
    let isFound = false;
    // Sorted, so that the read order is deterministic.
    for (const name of readdirSync(target).sort()) {
      if (name.startsWith('.') || SKIPPED_FOLDERS.has(name)) continue;
      if (this.read(`${path}/${name}`, need, depth + 1, parents)) isFound = true;
    }
    return isFound;
  }

  private readFile(path: string, target: string, need: ContextFileNeed): boolean {
    const bytes = readRegularFile(target, this.limits.file_bytes_max);
    if (bytes === 'missing') return false;
    if (typeof bytes === 'string') return this.refuse(path, bytes);
    this.totalBytes += bytes.length;
    const { files_max, total_bytes_max } = this.limits;
    if (this.files.size >= files_max || this.totalBytes > total_bytes_max) {
      throw new WorkspaceError(
        `The context of an edge has at most ${files_max} files and ${total_bytes_max} bytes, and ${path} exceeds that. ` +
          'Name fewer files in context_guidance of the edge, or move files out of the context folders.',
      );
    }
    this.files.set(target, { path: relative(this.root, target).split(sep).join('/'), bytes, need });
    return true;
  }

  /** Whether a name on the path, after links are followed, starts with a dot: `.git`, `.env` and the like may have secrets. */
  private isHidden(target: string): boolean {
    const [first = '', ...innerParts] = relative(this.root, target).split(sep);
    return (
      (first.startsWith('.') && first !== WORKSPACE_FOLDER) || innerParts.some((part) => part.startsWith('.'))
    );
  }

  private refuse(path: string, reason: keyof typeof FAULT_TEXTS): false {
    this.refused.set(path, FAULT_TEXTS[reason]);
    return false;
  }
}

const FAULT_TEXTS = {
  outside: 'It leaves the project, and is not read. Replace it with a copy.',
  own_store: 'It is in the folder of the log, and is not read.',
  hidden: 'It is hidden, so it may contain secrets, and is not read. Move it to a folder without a dot.',
  loop: 'It is a link that leads back to itself or to a folder above it. Remove it.',
  broken: 'It is a link that leads nowhere. Correct it, or remove it.',
  link: 'It is a link that changed while it was read. Try again.',
  no_access: 'This user may not read it. Change its permissions.',
  not_a_file: 'It is not a regular file. Remove it, or replace it with a regular file.',
  hard_link: 'It has more than one hard link. Replace it with a copy.',
  too_large: `It has more than ${CONTEXT_LIMITS.file_bytes_max / 1024} KiB. Split it, or move it out of the folder.`,
  too_deep: 'It is nested too deeply. Move it up.',
} as const;
