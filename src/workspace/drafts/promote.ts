import { posix } from 'node:path';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { isToolConfig } from '../../core/methodology/definition/guarded-paths.js';
import type { ManifestFile, ResultManifest } from '../../core/methodology/definition/manifest.js';
import { OpenFolder } from '../open-folder.js';
import { draftPathsOf, type ProjectBlobs, type ProjectFolder } from './draft-paths.js';
import { isDraftRefusal } from './refusal.js';
import { resolveVersions } from './resolve-versions.js';
import { contentDigest, type FileContent, noopStepHook, readBelow, type StepHook } from './safe-read.js';
import { writeBelow, writeSafely } from './safe-write.js';

/** The manifest of an accepted result, and the position of the accepting event in the log. */
export interface AcceptedManifest {
  readonly subject: string;
  readonly generation: number;
  readonly position: number;
  readonly agent_id: string;
  readonly manifest: ResultManifest;
  /**
   * Whether a person approved the manifest, or it needs no approval: only files that configure other programs need one to
   * be promoted.
   */
  readonly human_approved: boolean;
}

/**
 * An accepted file that was not written into the project: a person has changed the file there, no person has approved the
 * new version, or a link or a folder blocks its path. The accepted version is kept elsewhere.
 */
interface PromotionConflict extends Pick<AcceptedManifest, 'subject' | 'generation' | 'position'> {
  readonly path: string;
  readonly says: string;
  /** Relative to the project's root; null if the version exists only as a blob. */
  readonly kept_at: string | null;
  readonly sha256: string;
}

export interface PromotionFailure {
  readonly position: number;
  readonly path: string;
  readonly says: string;
  /** Whether a retry may succeed. */
  readonly is_retryable: boolean;
}

export interface Promotion {
  readonly written: string[];
  readonly unchanged: string[];
  readonly conflicts: PromotionConflict[];
  readonly failures: PromotionFailure[];
}

interface FileVersion extends ManifestFile {
  readonly accepted: AcceptedManifest;
}

/**
 * Copies accepted files into the project. Skips files that are already equal and files that a person has changed
 * since, so repeating a promotion after a crash at any point gives the same result. Removes no files.
 *
 * Only the writer of the log may promote, and only one promotion per project may run at a time.
 */
export async function promote(
  project: ProjectFolder,
  target: ProjectBlobs,
  accepted: AcceptedManifest | readonly AcceptedManifest[],
  onStep: StepHook = noopStepHook,
): Promise<Promotion> {
  const promoter = new Promoter(project, target, onStep);
  for (const [path, versions] of versionsByPath([accepted].flat() as AcceptedManifest[])) {
    await promoter.promotePath(path, versions).catch((error) => promoter.recordDiskError(versions, error));
  }
  await promoter.syncFolders();
  return promoter.promotion;
}

function versionsByPath(accepted: readonly AcceptedManifest[]): Map<string, FileVersion[]> {
  const paths = new Map<string, FileVersion[]>();
  for (const acceptedManifest of accepted.toSorted((a, b) => a.position - b.position)) {
    for (const file of acceptedManifest.manifest.files) {
      const versions = paths.get(file.path) ?? [];
      paths.set(file.path, versions);
      versions.push({ ...file, accepted: acceptedManifest });
    }
  }
  return paths;
}

class Promoter {
  readonly promotion: Promotion = { written: [], unchanged: [], conflicts: [], failures: [] };
  private readonly touchedFolders = new Set<string>();

  constructor(
    private readonly project: ProjectFolder,
    private readonly blobs: ProjectBlobs,
    private readonly onStep: StepHook,
  ) {}

  async promotePath(path: string, versions: readonly FileVersion[]): Promise<void> {
    const current = await readBelow(this.project.root, path, { links: 'any' });
    if (isDraftRefusal(current)) {
      return this.keepConflict(versions.at(-1) as FileVersion, current.says);
    }
    for (const version of versions.filter(needsApproval)) {
      // A person, or an earlier version of this program, may already have written the unapproved file.
      if (version.sha256 !== contentDigest(current)) await this.keepConflict(version, UNAPPROVED_TEXT);
    }
    const promotable = versions.filter((version) => !needsApproval(version));
    const { last, conflicts } = resolveVersions(contentDigest(current), promotable);
    if (last !== null) await this.writeVersion(last, current);
    for (const version of conflicts) await this.keepConflict(version, CHANGED_TEXT);
  }

  private async writeVersion(version: FileVersion, current: FileContent | null): Promise<void> {
    const { path, sha256, executable } = version;
    const isSameMode = current?.executable === executable || process.platform === 'win32';
    if (contentDigest(current) === sha256 && isSameMode) {
      this.promotion.unchanged.push(path);
      // A crash may have happened before the folder was synced.
      this.touchedFolders.add(posix.dirname(path));
      return;
    }
    const bytes = await this.bytesOf(version);
    if (bytes === null) return this.failMissingBlob(version);
    await this.onStep('fetched', path);
    const mode = current === null ? null : modeFor(current.mode, executable);
    const written = await this.write(path, { bytes, executable, mode }, contentDigest(current));
    if (!written) return this.keepConflict(version, CHANGED_TEXT);
    this.promotion.written.push(path);
    this.touchedFolders.add(posix.dirname(path));
    await this.onStep('placed', path);
  }

  private async write(
    path: string,
    file: { bytes: Uint8Array; executable: boolean; mode: number | null },
    expectedSha256: string | null,
  ): Promise<boolean> {
    const folder = await OpenFolder.openBelow(this.project.root, posix.dirname(path), { make: true });
    if (typeof folder === 'string') return false;
    const isStillExpected = async () => {
      await this.onStep('written', path);
      const currentContent = await readBelow(this.project.root, path, { links: 'any' });
      return !isDraftRefusal(currentContent) && contentDigest(currentContent) === expectedSha256;
    };
    try {
      return await writeSafely(folder, posix.basename(path), { ...file, isStillExpected });
    } finally {
      await folder.close();
    }
  }

  /** Stores the accepted bytes where a person can compare them. */
  private async keepConflict(version: FileVersion, message: string): Promise<void> {
    const { accepted, path, sha256, executable } = version;
    const bytes = await this.bytesOf(version);
    if (bytes === null) return this.failMissingBlob(version);
    const { subject, generation, position } = accepted;
    const folders = draftPathsOf(accepted);
    let kept_at: string | null = null;
    if (!isDraftRefusal(folders)) {
      const { agent, feature, edge } = folders;
      const keptPath = `${agent}/conflicts/${feature}/${edge}-gen${generation}/${path}`;
      if (await writeBelow(this.project.root, keptPath, { bytes, executable })) kept_at = keptPath;
    }
    this.promotion.conflicts.push({ path, subject, generation, position, says: message, kept_at, sha256 });
    await this.onStep('kept', path);
  }

  private failMissingBlob(version: FileVersion): void {
    this.addFailure(version, `The blob ${version.sha256} of ${version.path} is missing or damaged.`);
  }

  /** Records an I/O error on one path, so that it does not block other files. Rethrows any other error. */
  recordDiskError(versions: readonly FileVersion[], error: unknown): void {
    if (typeof (error as NodeJS.ErrnoException).syscall !== 'string') throw error;
    for (const version of versions) this.addFailure(version, (error as Error).message);
  }

  private addFailure({ accepted, path }: FileVersion, message: string): void {
    this.promotion.failures.push({ position: accepted.position, path, says: message, is_retryable: true });
  }

  private async bytesOf({ sha256 }: FileVersion): Promise<Uint8Array | null> {
    const bytes = await this.blobs.blobs.get(this.blobs.key.tenant_id, sha256);
    return bytes !== null && sha256Hex(bytes) === sha256 ? bytes : null;
  }

  async syncFolders(): Promise<void> {
    for (const path of this.touchedFolders) {
      const folder = await OpenFolder.openBelow(this.project.root, path);
      if (typeof folder === 'string') continue;
      await folder.sync().finally(() => folder.close());
    }
    await this.onStep('synced', '');
  }
}

const UNAPPROVED_TEXT =
  'The file configures other programs, and no person approved it. Review it, and copy it into the project if it is correct.';
const needsApproval = ({ accepted, path }: FileVersion): boolean =>
  !accepted.human_approved && isToolConfig(path);

const CHANGED_TEXT = 'The file changed in the project after the work on it began, so it was not overwritten.';

/** The new mode of a file. If `executable`, who may read it may also execute it; otherwise nobody may execute it. */
const modeFor = (mode: number, executable: boolean): number =>
  executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
