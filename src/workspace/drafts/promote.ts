import { sha256Hex } from '../../coordinator/identity.js';
import { isCommanding } from '../../core/graph/guarded-paths.js';
import type { Manifest, ManifestFile } from '../../core/graph/manifest.js';
import { HeldFolder } from '../held-folder.js';
import { type ProjectPlace, placesOf, type Shelf } from './places.js';
import { isRefusal } from './refusal.js';
import { NO_STEPS, type ReadFile, readBelow, type Steps } from './safe-read.js';
import { writeBelow, writeSafely } from './safe-write.js';
import { settle } from './settle.js';

/** A manifest that a commit has accepted, and where in the log that is. */
export interface AcceptedManifest {
  readonly subject: string;
  readonly generation: number;
  readonly position: number;
  /** Whose work it is. */
  readonly agent_id: string;
  readonly manifest: Manifest;
  /** A human stands behind it. Without one, what commands other programs is kept aside. */
  readonly human_approved: boolean;
}

/** A file that was left as a person made it. What was accepted is kept beside it. */
export interface Conflict {
  readonly path: string;
  readonly subject: string;
  readonly generation: number;
  readonly position: number;
  readonly says: string;
  /** From the project's root; null: only among the blobs, by its digest. */
  readonly kept_at: string | null;
  readonly sha256: string;
}

export interface Failure {
  readonly position: number;
  readonly path: string;
  readonly says: string;
  /** Another attempt may succeed. */
  readonly again: boolean;
}

export interface Promotion {
  readonly written: readonly string[];
  readonly unchanged: readonly string[];
  readonly conflicts: readonly Conflict[];
  readonly failures: readonly Failure[];
}

interface Version extends ManifestFile {
  readonly of: AcceptedManifest;
}

/**
 * Copies accepted files to where they belong. What is there already is left alone, and so is what a person has changed
 * in between: doing it again, after a crash at any point, ends in the same files. It removes none.
 *
 * One at a time for a project: whoever may write its log may do it.
 */
export async function promote(
  place: ProjectPlace,
  shelf: Shelf,
  accepted: AcceptedManifest | readonly AcceptedManifest[],
  steps: Steps = NO_STEPS,
): Promise<Promotion> {
  const promoting = new Promoting(place, shelf, steps);
  for (const [path, versions] of versionsByPath([accepted].flat() as AcceptedManifest[])) {
    await promoting.settlePath(path, versions).catch((error) => promoting.hindered(versions, error));
  }
  await promoting.syncFolders();
  return promoting.promotion;
}

function versionsByPath(accepted: readonly AcceptedManifest[]): Map<string, Version[]> {
  const paths = new Map<string, Version[]>();
  for (const of of accepted.toSorted((a, b) => a.position - b.position)) {
    for (const file of of.manifest.files) {
      const versions = paths.get(file.path) ?? [];
      paths.set(file.path, versions);
      versions.push({ ...file, of });
    }
  }
  return paths;
}

class Promoting {
  readonly promotion = {
    written: [] as string[],
    unchanged: [] as string[],
    conflicts: [] as Conflict[],
    failures: [] as Failure[],
  };
  private readonly touched = new Set<string>();

  constructor(
    private readonly place: ProjectPlace,
    private readonly shelf: Shelf,
    private readonly steps: Steps,
  ) {}

  async settlePath(path: string, versions: readonly Version[]): Promise<void> {
    const current = await readBelow(this.place.root, path, { links: 'any' });
    if (current !== null && isRefusal(current)) {
      return this.conflict(versions.at(-1) as Version, current.says);
    }
    const [waiting, free] = partition(versions, needsHuman);
    for (const version of waiting) {
      // A person may have put it there, or an earlier version of this program.
      if (version.sha256 !== digestOf(current)) await this.conflict(version, UNAPPROVED);
    }
    if (free.length === 0) return;
    const { last, conflicts } = settle(digestOf(current), free);
    if (last !== null) await this.bring(last, current);
    for (const version of conflicts) await this.conflict(version, CHANGED);
  }

  private async bring(version: Version, current: ReadFile | null): Promise<void> {
    const { path, sha256, executable } = version;
    const same_mode = current?.executable === executable || process.platform === 'win32';
    if (digestOf(current) === sha256 && same_mode) {
      this.promotion.unchanged.push(path);
      // A crash may have come between the file and its folder.
      this.touched.add(folderOf(path));
      return;
    }
    const bytes = await this.bytesOf(version);
    if (bytes === null) return this.fail(version);
    await this.steps('fetched', path);
    const mode = current === null ? null : modeFor(current.mode, executable);
    const written = await this.write(path, { bytes, executable, mode }, digestOf(current));
    if (!written) return this.conflict(version, CHANGED);
    this.promotion.written.push(path);
    this.touched.add(folderOf(path));
    await this.steps('placed', path);
  }

  private async write(
    path: string,
    file: { bytes: Uint8Array; executable: boolean; mode: number | null },
    expected_sha256: string | null,
  ): Promise<boolean> {
    const names = path.split('/');
    const folder = await HeldFolder.reach(this.place.root, names.slice(0, -1), { make: true });
    if (typeof folder === 'string') return false;
    const stillRight = async () => {
      await this.steps('written', path);
      const now = await readBelow(this.place.root, path, { links: 'any' });
      return (now === null || !isRefusal(now)) && digestOf(now) === expected_sha256;
    };
    try {
      return await writeSafely(folder, names.at(-1) as string, { ...file, stillRight });
    } finally {
      await folder.close();
    }
  }

  /** The accepted bytes go where a person can compare them. */
  private async conflict(version: Version, says: string): Promise<void> {
    const { of, path, sha256, executable } = version;
    const bytes = await this.bytesOf(version);
    if (bytes === null) return this.fail(version);
    const places = placesOf(this.place, of);
    let kept_at: string | null = null;
    if (!isRefusal(places)) {
      const { agent, feature, edge } = places;
      const kept = [...agent, 'conflicts', feature, `${edge}-gen${of.generation}`, ...path.split('/')];
      if (await writeBelow(this.place.root, kept, { bytes, executable })) kept_at = kept.join('/');
    }
    const { subject, generation, position } = of;
    this.promotion.conflicts.push({ path, subject, generation, position, says, kept_at, sha256 });
    await this.steps('kept', path);
  }

  private fail(version: Version): void {
    this.failed(version, `No blob holds the bytes ${version.sha256} of ${version.path}.`);
  }

  /** A place that the disk does not let us read or write keeps no other file waiting. */
  hindered(versions: readonly Version[], error: unknown): void {
    if (typeof (error as NodeJS.ErrnoException).syscall !== 'string') throw error;
    for (const version of versions) this.failed(version, (error as Error).message);
  }

  private failed({ of, path }: Version, says: string): void {
    this.promotion.failures.push({ position: of.position, path, says, again: true });
  }

  private async bytesOf({ sha256 }: Version): Promise<Uint8Array | null> {
    const bytes = await this.shelf.blobs.get(this.shelf.key.tenant_id, sha256);
    return bytes !== null && sha256Hex(bytes) === sha256 ? bytes : null;
  }

  async syncFolders(): Promise<void> {
    for (const path of this.touched) {
      const folder = await HeldFolder.reach(this.place.root, path === '' ? [] : path.split('/'));
      if (typeof folder === 'string') continue;
      await folder.sync().finally(() => folder.close());
    }
    await this.steps('synced', '');
  }
}

const UNAPPROVED =
  'It commands other programs, and no human approved it. Compare it, and copy it into place by hand if it is right.';
const needsHuman = ({ of, path }: Version): boolean => !of.human_approved && isCommanding(path);

const CHANGED = 'It was changed in the project since the work on it began, and is left as it is.';

function partition<T>(all: readonly T[], isFirst: (each: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((each) => !isFirst(each))];
}

const digestOf = (file: ReadFile | null): string | null => (file === null ? null : sha256Hex(file.bytes));
const folderOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), 0));

/** Whoever may read a program may run it; nobody may run what is none. */
const modeFor = (mode: number, executable: boolean): number =>
  executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
