import { rm } from 'node:fs/promises';
import { posix } from 'node:path';
import { z } from 'zod';
import type { ResultManifest } from '../../core/methodology/definition/manifest.js';
import { nullSeparated, runGit } from '../git.js';
import { OpenFolder } from '../open-folder.js';
import { DraftCollector } from './draft-collector.js';
import {
  type BlobTarget,
  type DraftPaths,
  type DraftScope,
  type ProjectFolder,
  worktreeFolder,
  worktreeRecord,
} from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { digestBelow, isFileContent, readBelow, type StepHook } from './safe-read.js';
import { writeBelow } from './safe-write.js';
import {
  baseDigestsAt,
  gitFailedRefusal,
  noWorktreeRefusal,
  outputLine,
  pathsChangedByAgent,
} from './worktree-changes.js';

export interface WorktreeScope extends DraftScope {
  readonly generation: number;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const recordSchema = z.strictObject({ base_commit: z.string().regex(COMMIT) });

/** The worktree of a grant, and the record of the commit that it started from. */
export class Worktree {
  /** Relative to the project's root. */
  readonly folder: string;
  readonly branch: string;
  private readonly root: string;
  private readonly record: string;

  constructor({ root }: ProjectFolder, paths: DraftPaths, generation: number) {
    const { feature, edge } = paths;
    this.root = root;
    this.folder = worktreeFolder(paths, generation);
    this.record = worktreeRecord(paths, generation);
    // Dots in ids are escaped too, because git forbids `..` in a ref name.
    this.branch = `gen/${feature}/${edge}/${generation}`.replaceAll('.', '%2E');
  }

  /** The commit from which the worktree started; null without a valid record of it. The folder may be missing even so. */
  async baseCommit(): Promise<string | null> {
    const read = await readBelow(this.root, this.record, { links: 'one' });
    if (!isFileContent(read)) return null;
    try {
      return recordSchema.parse(JSON.parse(read.bytes.toString('utf8'))).base_commit;
    } catch {
      return null;
    }
  }

  /**
   * Creates the worktree at the project's current commit. If only its folder was lost, creates it again from its branch, or
   * from the recorded commit. An existing worktree is kept with its contents.
   */
  async add(): Promise<DraftRefusal | null> {
    const { root, folder, branch } = this;
    const before = await this.baseCommit();
    const base_commit = before ?? outputLine(await runGit(root, ['rev-parse', '--verify', 'HEAD^{commit}']));
    if (!COMMIT.test(base_commit))
      return noWorktreeRefusal(folder, 'the project has no commit to start from');
    if (before !== null && (await this.hasFolder())) return null;
    const bytes = Buffer.from(`${JSON.stringify({ base_commit })}\n`);
    if (!(await writeBelow(root, this.record, { bytes })))
      return noWorktreeRefusal(folder, 'a link or a file blocks its path');
    const branchRef = await runGit(root, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
    // If only the folder was lost, reuse the branch with its commits.
    const target = branchRef.ok ? ['--', folder, branch] : ['-b', branch, '--', folder, base_commit];
    const added = await runGit(root, ['worktree', 'add', '--quiet', '--force', ...target]);
    return added.ok ? null : noWorktreeRefusal(folder, added.message);
  }

  /** Builds the candidate from the files that changed since the base commit. Reads them like drafts. */
  async collect(
    target: BlobTarget,
    baseCommit: string,
    onStep: StepHook,
  ): Promise<ResultManifest | DraftRefusal> {
    const { root, folder } = this;
    if (!(await this.hasFolder())) return noWorktreeRefusal(folder, 'it was never created, or was removed');
    const changed = await pathsChangedByAgent(root, folder, baseCommit);
    if (isDraftRefusal(changed)) return changed;
    const bases = await baseDigestsAt(root, baseCommit, changed);
    if (isDraftRefusal(bases)) return bases;
    const collection = new DraftCollector(root, target, bases, onStep);
    for (const path of changed) {
      const refused = await this.addFile(path, collection);
      if (refused !== null) return refused;
    }
    return collection.manifest(folder);
  }

  private async addFile(path: string, collection: DraftCollector): Promise<DraftRefusal | null> {
    const folder = await OpenFolder.openBelow(this.root, posix.dirname(`${this.folder}/${path}`));
    if (typeof folder === 'string')
      return draftRefusal('SYMLINK', path, `A parent folder of ${path} is a symbolic link.`);
    try {
      return await collection.add({ path, folder, name: posix.basename(path) });
    } finally {
      await folder.close();
    }
  }

  /**
   * Removes the worktree after its grant has ended, if the project already contains every change in it and on its branch.
   * Otherwise keeps the worktree and returns the reason. Returns null if it was removed, or did not exist.
   */
  async cleanUp(): Promise<string | null> {
    const baseCommit = await this.baseCommit();
    if (baseCommit === null) return null;
    const whyKept =
      (await this.unpromotedFile(baseCommit)) ??
      (await this.unpromotedCommit(baseCommit)) ??
      (await this.remove())?.says;
    return whyKept === undefined ? null : `${this.folder} is kept: ${whyKept}`;
  }

  /** A reason to keep the worktree: its folder has a change that the project does not have. Undefined if there is none. */
  private async unpromotedFile(baseCommit: string): Promise<string | undefined> {
    const changed = await pathsChangedByAgent(this.root, this.folder, baseCommit);
    if (isDraftRefusal(changed)) return changed.says;
    for (const path of changed) {
      const digest = await digestBelow(this.root, `${this.folder}/${path}`);
      if (digest === null || digest !== (await digestBelow(this.root, path))) return notPromotedText(path);
    }
    return undefined;
  }

  /** A reason to keep the worktree: its branch has a change that the project does not have. Undefined if there is none. */
  private async unpromotedCommit(baseCommit: string): Promise<string | undefined> {
    const head = `refs/heads/${this.branch}`;
    const diff = ['diff', '--name-only', '--no-renames', '-z', baseCommit, head, '--'];
    const result = await runGit(this.root, diff);
    if (!result.ok) return result.message;
    const paths = nullSeparated(result.out);
    const committed = await baseDigestsAt(this.root, head, paths);
    if (isDraftRefusal(committed)) return committed.says;
    for (const path of paths) {
      if (committed.get(path) !== (await digestBelow(this.root, path))) return notPromotedText(path);
    }
    return undefined;
  }

  /** Removes the worktree and its branch with all changes, so call it only when nobody needs them any more. */
  async remove(): Promise<DraftRefusal | null> {
    if (await this.hasFolder()) {
      const removed = await runGit(this.root, ['worktree', 'remove', '--force', '--', this.folder]);
      if (!removed.ok)
        return gitFailedRefusal(this.folder, `remove the worktree ${this.folder}`, removed.message);
    }
    await runGit(this.root, ['branch', '--quiet', '-D', '--', this.branch]);
    const folder = await OpenFolder.openBelow(this.root, posix.dirname(this.record));
    if (typeof folder === 'string') return null;
    await rm(folder.pathOf(posix.basename(this.record)), { force: true });
    await folder.close();
    return null;
  }

  private async hasFolder(): Promise<boolean> {
    const folder = await OpenFolder.openBelow(this.root, this.folder);
    if (typeof folder === 'string') return false;
    await folder.close();
    return true;
  }
}

const notPromotedText = (path: string): string =>
  `the project does not have the worktree's version of ${path}.`;
