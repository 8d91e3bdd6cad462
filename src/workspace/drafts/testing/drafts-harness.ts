import { chmod, lstat, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { sha256Hex } from '../../../coordinator/runtime/identity.js';
import { canonicalEdge } from '../../../core/methodology/definition/edge-name.js';
import type { ResultManifest } from '../../../core/methodology/definition/manifest.js';
import { FolderBlobs } from '../../../stores/file/folder-blobs.js';
import { collectDrafts } from '../collect.js';
import { type DraftScope, draftPathsOf } from '../draft-paths.js';
import { type DraftRefusal, isDraftRefusal } from '../refusal.js';
import type { StepHook } from '../safe-read.js';
import { KEY } from './project-folder.js';

export const EDGE = `REQ-F-PAY-1#${canonicalEdge('code ↔ unit_tests')}`;
export const ALPHA: DraftScope = { agent_id: 'alpha', subject: EDGE };

/** A project with a workspace on a real disk. */
export class DraftsHarness {
  readonly blobs: FolderBlobs;
  readonly key = KEY;

  constructor(readonly root: string) {
    this.blobs = new FolderBlobs(join(root, '.ai-workspace', 'blobs'));
  }

  static async open(): Promise<DraftsHarness> {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'drafts-')));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    await mkdir(join(root, '.ai-workspace', 'events'), { recursive: true });
    return new DraftsHarness(root);
  }

  workspacePath(...parts: string[]): string {
    return join(this.root, '.ai-workspace', ...parts);
  }

  /** The absolute path of a draft. */
  draftPath(path = '', scope = ALPHA): string {
    const folders = draftPathsOf(scope);
    if (isDraftRefusal(folders)) throw new Error(folders.says);
    return join(this.root, folders.drafts, path);
  }

  async writeDraft(path: string, text: string, scope = ALPHA): Promise<void> {
    await write(this.draftPath(path, scope), text);
  }

  /** Writes a project file, as a person would. */
  async writeShared(path: string, text: string): Promise<void> {
    await write(join(this.root, path), text);
  }

  async readShared(path: string): Promise<string | null> {
    return readFile(join(this.root, path), 'utf8').catch(() => null);
  }

  async isExecutable(path: string): Promise<boolean> {
    return ((await lstat(join(this.root, path))).mode & 0o100) !== 0;
  }

  collect(scope = ALPHA, onStep?: StepHook): Promise<ResultManifest | DraftRefusal> {
    return collectDrafts(this, this, scope, onStep);
  }

  async collectValid(scope = ALPHA): Promise<ResultManifest> {
    const manifest = await this.collect(scope);
    if (isDraftRefusal(manifest)) throw new Error(`${manifest.refused}: ${manifest.says}`);
    return manifest;
  }

  async blobText(sha256: string): Promise<string> {
    return Buffer.from((await this.blobs.get(KEY.tenant_id, sha256)) ?? 'no blob').toString('utf8');
  }
}

export async function write(path: string, text: string, mode?: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  if (mode !== undefined) await chmod(path, mode);
}

export const digest = (text: string): string => sha256Hex(text);
