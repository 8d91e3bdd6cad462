import { leafText } from '../../core/audit/leaf.js';
import { TILE_SIZE } from '../../core/audit/merkle-tree.js';
import { OriginalDigests } from '../../core/audit/original-digests.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import type { EventHistory } from '../queries/history.js';
import { binaryToBytes, leafHashOf, payloadDigest } from './audit-hash.js';

/** An event of a log, and its leaf. */
export interface EventLeaf {
  readonly event: EventEnvelope;
  readonly leaf: string;
  /** Whether the log records that retention redacted the payload. The leaf then has the digest of the original payload. */
  readonly isRedacted: boolean;
}

/** Reads the leaves of a project from its store. */
export class EventLeaves {
  private readonly originals = new OriginalDigests();
  private originalsPosition = 0;
  private openTile: { readonly until: number; readonly hashes: readonly Uint8Array[] } | null = null;

  constructor(
    private readonly history: EventHistory,
    private readonly projectKey: ProjectKey,
  ) {}

  /** Calls `visit` for the events after position `after`, up to and including `until_position`, in order. */
  async forEach(after: number, until_position: number, visit: (eventLeaf: EventLeaf) => void): Promise<void> {
    const originals = await this.readOriginals();
    await this.history.forEach(this.projectKey, { after, until_position }, (event) => {
      const original = originals.digestAt(event.position);
      const leaf = leafText(event, original ?? payloadDigest(event.payload));
      visit({ event, leaf, isRedacted: original !== null });
      return true;
    });
  }

  /** The hashes of the leaves of a tile. In a tree of this size, the last tile may be incomplete. */
  async ofTile(tile: number, treeSize: number): Promise<readonly Uint8Array[]> {
    const after = tile * TILE_SIZE;
    const until = Math.min(after + TILE_SIZE, treeSize);
    // Every proof against the last checkpoint needs the incomplete tile at the end of the tree, so it is cached.
    const isOpen = until - after < TILE_SIZE;
    if (isOpen && this.openTile?.until === until) return this.openTile.hashes;
    const hashes: Uint8Array[] = [];
    await this.forEach(after, until, ({ leaf }) => {
      hashes.push(binaryToBytes(leafHashOf(leaf)));
    });
    if (isOpen) this.openTile = { until, hashes };
    return hashes;
  }

  async leafAt(position: number): Promise<EventLeaf | null> {
    let found: EventLeaf | null = null;
    await this.forEach(position - 1, position, (eventLeaf) => {
      found = eventLeaf;
    });
    return found;
  }

  /** The digests of payloads before retention redacted them. Reads the events added since the last call. */
  private async readOriginals(): Promise<OriginalDigests> {
    const range = { subject: HISTORY_SUBJECT, after: this.originalsPosition };
    await this.history.forEach(this.projectKey, range, (event) => {
      this.originals.visit(event);
      this.originalsPosition = event.position;
      return true;
    });
    return this.originals;
  }
}
