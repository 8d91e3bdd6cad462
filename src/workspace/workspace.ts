import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import {
  ACTIVE_FILE,
  SEGMENTS_FOLDER,
  SNAPSHOTS_FOLDER,
  STORE_FILE,
  TENANTS_FOLDER,
} from '../stores/file/layout.js';
import {
  type ForeignPath,
  findForeignPath,
  foreignFolderText,
  type ProcessEnvironment,
} from './folder-owner.js';

export const WORKSPACE_FOLDER = '.ai-workspace';
/** The project's intent. The file is outside the workspace folder, but is read with it. */
export const INTENT_FILE = 'specification/INTENT.md';
/** The entries that the server trusts in the folder of the log. Inboxes may belong to other users. */
const TRUSTED_NAMES = [ACTIVE_FILE, STORE_FILE, TENANTS_FOLDER, SEGMENTS_FOLDER, SNAPSHOTS_FOLDER];

/** An invalid workspace. The message says what is wrong and what to do. */
export class WorkspaceError extends Error {
  override readonly name = 'WorkspaceError';
}

/** The paths of a project that has a workspace. */
export class Workspace {
  readonly folder: string;

  /** `root`: the project's folder, which contains the workspace. */
  constructor(readonly root: string) {
    this.folder = join(root, WORKSPACE_FOLDER);
  }

  /**
   * The workspace of the nearest folder upward that has one. Throws if another user owns it, because its log decides
   * which keys open the server; `GENESIS_STORE` can name it as trusted.
   */
  static find(from: string, env: ProcessEnvironment = process.env): Workspace | null {
    const workspace = Workspace.nearest(from);
    const foreign = workspace?.foreignPath(from, env) ?? null;
    if (workspace === null || foreign === null) return workspace;
    const url = `workspace:${workspace.root}`;
    const setting = `GENESIS_STORE=${url}, or --store ${url} for commands that have this option`;
    throw new WorkspaceError(foreignFolderText('A workspace', workspace.folder, foreign, setting));
  }

  /** The nearest workspace; null if there is none, or if another user owns it. */
  static findOwn(from: string, env: ProcessEnvironment): Workspace | null {
    const workspace = Workspace.nearest(from);
    return workspace?.foreignPath(from, env) === null ? workspace : null;
  }

  private static nearest(from: string): Workspace | null {
    for (let folder = resolve(from); ; folder = dirname(folder)) {
      const workspace = new Workspace(folder);
      if (isFolder(workspace.folder)) return workspace;
      if (folder === dirname(folder)) return null;
    }
  }

  /** The part of this workspace that another user owns; null if there is none, or if `GENESIS_STORE` names it. */
  private foreignPath(from: string, { GENESIS_STORE = '', ...env }: ProcessEnvironment): ForeignPath | null {
    const trustedRoot = /^workspace:(.*)$/s.exec(GENESIS_STORE)?.[1];
    if (trustedRoot !== undefined && resolve(from, trustedRoot) === this.root) return null;
    const trustedPaths = TRUSTED_NAMES.map((name) => join(this.events, name));
    return findForeignPath([this.folder, this.events, ...trustedPaths], env);
  }

  path(...parts: readonly string[]): string {
    return join(this.folder, ...parts);
  }

  /** The folder of the log and the inboxes. */
  get events(): string {
    return this.path('events');
  }
}

/** A link does not count: it may lead anywhere. */
function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
