import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const WORKSPACE_FOLDER = '.ai-workspace';
/** Outside the workspace folder but read with it: whether the project's intent has been written. */
export const INTENT_FILE = 'specification/INTENT.md';

/** The paths of a project that has a workspace. */
export class Workspace {
  /** The `.ai-workspace` folder. */
  readonly folder: string;

  /** `root`: the project's folder, which contains the workspace. */
  constructor(readonly root: string) {
    this.folder = join(root, WORKSPACE_FOLDER);
  }

  /** The workspace of the nearest folder upward that has one. */
  static find(from: string): Workspace | null {
    for (let folder = resolve(from); ; folder = dirname(folder)) {
      const workspace = new Workspace(folder);
      if (isFolder(workspace.folder)) return workspace;
      if (folder === dirname(folder)) return null;
    }
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
