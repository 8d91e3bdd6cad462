import { ALARM_EVENT } from '../../core/audit/alarm.js';
import { AuditKeys } from '../../core/audit/audit-keys.js';
import { fromBase64url, toBase64url } from '../../core/audit/audit-values.js';
import {
  type Anchor,
  type Checkpoint,
  checkpointPayload,
  checkpointText,
  toAnchor,
} from '../../core/audit/checkpoint.js';
import { CHECKPOINT_EVENT } from '../../core/audit/key-events.js';
import { bytesHasher, CompactRange, TILE_SIZE } from '../../core/audit/merkle-tree.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { AUDIT_SUBJECT } from '../../core/subject.js';
import type { Project } from '../queue/project.js';
import { sha256 } from './audit-hash.js';
import type { TreeState } from './tree-builder.js';
import { verifySignatureSync } from './verify-signature.js';

const PAGE_EVENTS = 100;

/** A checkpoint without its tree. */
export type SignedRoot = Omit<Checkpoint, 'subtrees' | 'tiles'>;

/** The checkpoints and audit keys in the log of a project. */
export class AuditRecords {
  readonly keys = new AuditKeys(sha256, verifySignatureSync);
  /** In order of position, without their trees. Only `lastCheckpoint` has its tree: building continues from there. */
  readonly checkpoints: SignedRoot[] = [];
  lastCheckpoint: Checkpoint | null = null;
  readonly tileRoots: Uint8Array[] = [];
  /** The number of tiles whose roots the checkpoints list. */
  tilesListed = 0;
  /** The last fault that was found in the audit events of the log, or that one of them reports; null if there is none. */
  alarm: string | null = null;
  /** Positions of the audit events that the last checkpoint does not cover. They alone make no new checkpoint necessary. */
  private uncoveredAuditPositions: number[] = [];
  private readPosition = 0;
  private lastRead: Promise<void> = Promise.resolve();

  constructor(private readonly project: Pick<Project, 'key' | 'store'>) {}

  /** The checkpoint that covers exactly up to this position. */
  rootAt(position: number): SignedRoot | null {
    return this.checkpoints.find((checkpoint) => checkpoint.position === position) ?? null;
  }

  /** Whether a log that ends at `position` has events, other than audit events, that the last checkpoint does not cover. */
  hasUncoveredEvents(position: number): boolean {
    return position - (this.lastCheckpoint?.position ?? 0) > this.uncoveredAuditPositions.length;
  }

  /** Reads and applies the audit events added since the last call. Calls take turns, so that no event is applied twice. */
  read(): Promise<void> {
    this.lastRead = this.lastRead.catch(() => {}).then(() => this.readNew());
    return this.lastRead;
  }

  private async readNew(): Promise<void> {
    const { key, store } = this.project;
    for (;;) {
      const query = { subject: AUDIT_SUBJECT, after: this.readPosition, limit: PAGE_EVENTS };
      const events = await store.events(key, query);
      for (const event of events) this.applyEvent(event);
      if (events.length < PAGE_EVENTS) return;
    }
  }

  /** The tree of the last checkpoint, from which building continues. */
  lastTree(): TreeState {
    const { lastCheckpoint: last, tileRoots } = this;
    if (last === null) return { size: 0, subtrees: [], tileRoots: [] };
    return { size: last.position, subtrees: last.subtrees.map(fromBase64url), tileRoots };
  }

  anchorOf(checkpoint: SignedRoot): Anchor {
    return toAnchor(this.project.key, checkpoint, this.keys.publicKeyOf(checkpoint.key_id) ?? '');
  }

  private applyEvent(event: EventEnvelope): void {
    this.readPosition = event.position;
    this.uncoveredAuditPositions.push(event.position);
    if (event.event_type === ALARM_EVENT) {
      this.alarm = `Two different roots were computed for position ${event.payload.position}. Run gen verify.`;
      return;
    }
    if (event.event_type !== CHECKPOINT_EVENT) {
      const fault = this.keys.apply(event);
      if (fault !== null)
        this.alarm = `The key event at position ${event.position} is not valid: ${fault.detail}. Run gen verify.`;
      return;
    }
    const parsed = checkpointPayload.safeParse(event.payload);
    const fault = parsed.success ? this.faultIn(parsed.data, event.position) : 'it is malformed';
    if (fault === null && parsed.success) this.addCheckpoint(parsed.data);
    else
      this.alarm = `The checkpoint at position ${event.position} cannot be used: ${fault}. Run gen verify.`;
  }

  /**
   * Why the checkpoint at position `at` cannot be used; null if it can. A signature alone is not enough: a checkpoint of
   * history that was lost may be written to the log again, and the tree must not continue from it.
   */
  private faultIn(checkpoint: Checkpoint, at: number): string | null {
    const { key_id, signature, position, incarnation, subtrees, root } = checkpoint;
    if (position >= at)
      return `it covers position ${position}, but a checkpoint covers only positions before its own`;
    if (incarnation < (this.lastCheckpoint?.incarnation ?? 0))
      return 'its incarnation is lower than that of the checkpoint before it';
    const { first, roots } = checkpoint.tiles;
    if (first > this.tilesListed || (first + roots.length) * TILE_SIZE > position)
      return 'it lists tiles that its tree does not have';
    const inactive = this.keys.inactiveFault(key_id);
    if (inactive !== null) return inactive.detail;
    if (
      !verifySignatureSync(
        this.keys.publicKeyOf(key_id) ?? '',
        checkpointText(this.project.key, checkpoint),
        signature,
      )
    )
      return 'its signature is wrong';
    const tree = new CompactRange(bytesHasher(sha256), {
      size: position,
      subtrees: subtrees.map(fromBase64url),
    });
    return toBase64url(tree.root()) === root ? null : 'its subtrees do not make up its root';
  }

  private addCheckpoint(checkpoint: Checkpoint): void {
    const { tiles, subtrees: _, ...signedRoot } = checkpoint;
    const { position } = signedRoot;
    for (const [at, root] of tiles.roots.entries()) this.tileRoots[tiles.first + at] = fromBase64url(root);
    this.tilesListed = Math.max(this.tilesListed, tiles.first + tiles.roots.length);
    // Another coordinator may have written a later checkpoint first.
    if (position <= (this.lastCheckpoint?.position ?? 0)) return;
    this.checkpoints.push(signedRoot);
    this.lastCheckpoint = checkpoint;
    this.uncoveredAuditPositions = this.uncoveredAuditPositions.filter(
      (auditPosition) => auditPosition > position,
    );
  }
}
