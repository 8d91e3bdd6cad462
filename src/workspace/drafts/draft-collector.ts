import { sha256Hex } from '../../coordinator/runtime/identity.js';
import {
  MANIFEST_FILES_MAX,
  type ManifestFile,
  pathCollision,
  type ResultManifest,
  TOTAL_BYTES_MAX,
} from '../../core/methodology/definition/manifest.js';
import type { BaseDigests } from './base-record.js';
import { BlobUploads } from './blob-uploads.js';
import type { BlobTarget } from './draft-paths.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';
import { contentDigest, type FoundFile, readBelow, readSafely, type StepHook } from './safe-read.js';

/** Collects files for a manifest, each with the base it started from. */
export class DraftCollector {
  private readonly files: ManifestFile[] = [];
  private readonly conflictingPaths: string[] = [];
  private readonly uploads: BlobUploads;
  private totalBytes = 0;

  constructor(
    private readonly root: string,
    target: BlobTarget,
    private readonly bases: BaseDigests,
    private readonly onStep: StepHook,
  ) {
    this.uploads = new BlobUploads(target);
  }

  /**
   * Adds a file, if it differs from its base. Before it returns a refusal, it waits for the running uploads, so that none
   * outlives the collection.
   */
  async add(file: FoundFile): Promise<DraftRefusal | null> {
    const refused = await this.compareAndAdd(file);
    if (refused !== null) await this.uploads.allSettled();
    return refused;
  }

  private async compareAndAdd(file: FoundFile): Promise<DraftRefusal | null> {
    const { path } = file;
    const draft = await readSafely(file, { links: 'one', onStep: this.onStep });
    if (draft === null) return draftRefusal('SWAPPED', path, `${path} was removed while it was read.`);
    if (isDraftRefusal(draft)) return draft;
    const projectFile = await readBelow(this.root, path, { links: 'any' });
    if (isDraftRefusal(projectFile)) return projectFile;
    const { bytes, executable } = draft;
    const sha256 = sha256Hex(bytes);
    const projectSha256 = contentDigest(projectFile);
    const base_sha256 = this.bases.get(path) ?? (this.bases.has(path) ? null : projectSha256);
    this.bases.set(path, base_sha256);
    const isSameMode = projectFile === null || projectFile.executable === executable;
    if (sha256 === base_sha256 && isSameMode) return null;
    if (projectSha256 !== base_sha256 && projectSha256 !== sha256) this.conflictingPaths.push(path);
    return this.addFile({ path, sha256, size_bytes: bytes.length, executable, base_sha256 }, bytes);
  }

  /** The candidate's manifest, once every blob it names is durable. */
  async manifest(draftsPath: string): Promise<ResultManifest | DraftRefusal> {
    await this.uploads.allDurable();
    const { files, conflictingPaths, totalBytes: total_bytes } = this;
    if (conflictingPaths[0] !== undefined) {
      const others = conflictingPaths.length > 10 ? ` and ${conflictingPaths.length - 10} more` : '';
      const message = `Changed in the project since the drafts were begun: ${conflictingPaths.slice(0, 10).join(', ')}${others}.`;
      return draftRefusal('BASE_CHANGED', conflictingPaths[0], message);
    }
    if (files.length === 0) return noDraftsRefusal(draftsPath);
    const clash = pathCollision(files.map((file) => file.path));
    if (clash !== null) return draftRefusal('BAD_NAME', draftsPath, `${clash}.`);
    return { kind: 'files', files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), total_bytes };
  }

  private async addFile(file: ManifestFile, bytes: Buffer): Promise<DraftRefusal | null> {
    this.files.push(file);
    this.totalBytes += file.size_bytes;
    if (this.files.length > MANIFEST_FILES_MAX) {
      const message = `There are more than ${MANIFEST_FILES_MAX} files in the drafts. Submit fewer.`;
      return draftRefusal('TOO_MANY', file.path, message);
    }
    if (this.totalBytes > TOTAL_BYTES_MAX)
      return draftRefusal(
        'TOO_LARGE',
        file.path,
        `The drafts have ${this.totalBytes} bytes, and at most ${TOTAL_BYTES_MAX} are accepted. Submit fewer files.`,
      );
    await this.uploads.put(file.sha256, bytes);
    return null;
  }
}

export function noDraftsRefusal(path: string): DraftRefusal {
  const message = `There is nothing to submit in ${path}: it has no files, or no changed file. Write your files there first.`;
  return draftRefusal('NO_DRAFTS', path, message);
}
