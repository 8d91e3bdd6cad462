import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const WORKSPACE_FOLDER = '.ai-workspace';
/** Beside the workspace, and read with it: whether a person has said what the project is for. */
export const INTENT_FILE = 'specification/INTENT.md';

/** Where things lie in a project that has a workspace. */
export class Workspace {
  /** The folder `.ai-workspace` itself. */
  readonly folder: string;

  /** `root`: the folder of the project, which holds the workspace. */
  constructor(readonly root: string) {
    this.folder = join(root, WORKSPACE_FOLDER);
  }

  /** The workspace of the nearest folder from here upward that has one. */
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

  /** The folder of the log, and of the inbox beside it. */
  get events(): string {
    return this.path('events');
  }
}

/** A link is none: it may lead anywhere. */
function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
