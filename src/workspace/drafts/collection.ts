import { sha256Hex } from '../../coordinator/identity.js';
import {
  clashOf,
  MANIFEST_FILES_MAX,
  type Manifest,
  type ManifestFile,
  TOTAL_BYTES_MAX,
} from '../../core/graph/manifest.js';
import type { Bases } from './base-record.js';
import type { ProjectPlace, PutShelf } from './places.js';
import { Puts } from './puts.js';
import { type DraftRefusal, isRefusal, refusal } from './refusal.js';
import { type FoundFile, readBelow, readSafely, type Steps } from './safe-read.js';

/** Gathers files, with what each was begun from. */
export class Collection {
  private readonly files: ManifestFile[] = [];
  private readonly moved: string[] = [];
  private readonly puts: Puts;
  private total_bytes = 0;

  constructor(
    private readonly place: ProjectPlace,
    shelf: PutShelf,
    private readonly bases: Bases,
    private readonly steps: Steps,
  ) {
    this.puts = new Puts(shelf);
  }

  /** A refusal ends the collection: nothing of it is under way any more. */
  async add(found: FoundFile): Promise<DraftRefusal | null> {
    const refused = await this.read(found);
    if (refused !== null) await this.puts.settled();
    return refused;
  }

  private async read(found: FoundFile): Promise<DraftRefusal | null> {
    const { path } = found;
    const draft = await readSafely(found, { links: 'one', steps: this.steps });
    if (draft === null) return refusal('SWAPPED', path, `${path} vanished while it was read.`);
    if (isRefusal(draft)) return draft;
    const shared = await readBelow(this.place.root, path, { links: 'any' });
    if (shared !== null && isRefusal(shared)) return shared;
    const sha256 = sha256Hex(draft.bytes);
    const shared_sha256 = shared === null ? null : sha256Hex(shared.bytes);
    const base_sha256 = this.bases.get(path) ?? (this.bases.has(path) ? null : shared_sha256);
    this.bases.set(path, base_sha256);
    const { executable } = draft;
    const same_mode = shared === null || shared.executable === executable;
    if (sha256 === base_sha256 && same_mode) return null;
    if (shared_sha256 !== base_sha256 && shared_sha256 !== sha256) this.moved.push(path);
    return this.keep({ path, sha256, size_bytes: draft.bytes.length, executable, base_sha256 }, draft.bytes);
  }

  /** The candidate; everything it names is durable. */
  async manifest(where: string): Promise<Manifest | DraftRefusal> {
    await this.puts.durable();
    const { files, moved, total_bytes } = this;
    if (moved[0] !== undefined) {
      const others = moved.length > 10 ? ` and ${moved.length - 10} more` : '';
      const says = `Changed in the project since the drafts were begun: ${moved.slice(0, 10).join(', ')}${others}.`;
      return refusal('BASE_CHANGED', moved[0], says);
    }
    if (files.length === 0) return nothing(where);
    const clash = clashOf(files.map((file) => file.path));
    if (clash !== null) return refusal('BAD_NAME', where, `${clash}.`);
    return { kind: 'files', files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), total_bytes };
  }

  private async keep(file: ManifestFile, bytes: Buffer): Promise<DraftRefusal | null> {
    this.files.push(file);
    this.total_bytes += file.size_bytes;
    if (this.files.length > MANIFEST_FILES_MAX) {
      return refusal('TOO_MANY', file.path, `There are more than ${MANIFEST_FILES_MAX} files in the drafts.`);
    }
    if (this.total_bytes > TOTAL_BYTES_MAX) {
      return refusal('TOO_LARGE', file.path, `The drafts have more than ${TOTAL_BYTES_MAX} bytes.`);
    }
    await this.puts.put(file.sha256, bytes);
    return null;
  }
}

export const nothing = (path: string): DraftRefusal =>
  refusal('NO_DRAFTS', path, `There is nothing to promote in ${path}: no file, or none that was changed.`);
