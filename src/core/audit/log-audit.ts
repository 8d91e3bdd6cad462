import type { EventEnvelope } from '../events/envelope.js';
import { AnchorComparison, type AnchorResult } from './anchor-comparison.js';
import { type AuditFault, type AuditFaultCode, AuditKeys, type FaultWithoutPosition } from './audit-keys.js';
import { type HashBytes, type ProjectIds, toBase64url, utf8, type VerifySignature } from './audit-values.js';
import { type AnchorLine, type Checkpoint, checkpointPayload, checkpointText } from './checkpoint.js';
import { CHECKPOINT_EVENT } from './key-events.js';
import { leafText } from './leaf.js';
import { leafHash } from './merkle-tree.js';
import { CHECKPOINT_LAG_MAX, RecentTrees } from './recent-trees.js';
import { StatedRoots } from './stated-roots.js';
import { TileRecord } from './tile-record.js';

export interface LogAuditOptions {
  readonly hash: HashBytes;
  readonly verify: VerifySignature;
  readonly project: ProjectIds;
  readonly anchors?: readonly AnchorLine[];
  /** Of the store, if it is known: its checkpoints may not have reached the log yet. */
  readonly incarnation?: number;
}

export interface LogAuditReport {
  /** The number of events, and the root over all of them. */
  readonly size: number;
  readonly root: string;
  /** Checkpoints without a fault, and the last position that one covers. */
  readonly checkpoints: number;
  readonly covered_position: number;
  /** The first faults; `fault_count` counts all. */
  readonly faults: readonly AuditFault[];
  readonly fault_count: number;
  readonly anchors: readonly AnchorResult[];
  /** The first event that is not what was signed comes after `after`, and not after `upto`. */
  readonly differs_between: { readonly after: number; readonly upto: number } | null;
}

const FAULTS_KEPT = 1000;

/**
 * Audits a log that is fed to it event by event: computes the tree again, and compares it with the checkpoints in the
 * log and with anchors. Its memory does not grow with the log, except for 32 bytes per tile that no checkpoint lists.
 */
export class LogAudit {
  private readonly keys: AuditKeys;
  private readonly anchors: AnchorComparison;
  private readonly tiles = new TileRecord();
  private readonly trees: RecentTrees;
  private readonly faults: AuditFault[] = [];
  private faultCount = 0;
  private readonly statedRoots = new StatedRoots();
  /** The highest in a checkpoint so far. */
  private incarnation = 0;
  private checkpoints = 0;
  /** Before the first checkpoint that differs: after it, everything does. */
  private agreesAt = 0;
  private differsAt: number | null = null;

  constructor(private readonly options: LogAuditOptions) {
    const { hash, verify, project, anchors = [] } = options;
    this.keys = new AuditKeys(hash, verify);
    this.trees = new RecentTrees(hash, (index, root) => this.tiles.completed(index, root));
    this.anchors = new AnchorComparison(project, anchors, { hash, verify });
    for (const anchor of this.anchors.valid()) {
      const { position } = anchor;
      if (this.statedRoots.contradictsAnchor(anchor)) this.reportTwoRoots(position, position);
    }
  }

  /** `payloadSha256` is of the payload as it was written: see `OriginalDigests`. */
  visit(event: EventEnvelope, payloadSha256: string): void {
    const { hash } = this.options;
    const expected = this.trees.size + 1;
    if (event.position !== expected)
      this.report(event.position, 'BAD_POSITION', `expected position ${expected}`);
    const fault = this.keys.apply(event);
    if (fault !== null) this.report(fault.position, fault.code, fault.detail);
    if (event.event_type === CHECKPOINT_EVENT) this.checkCheckpoint(event);
    this.trees.append(leafHash(hash, utf8(leafText(event, payloadSha256))));
    this.anchors.visit(this.trees.size, () => this.trees.root());
  }

  result(): LogAuditReport {
    const { trees, keys } = this;
    const incarnation = Math.max(this.incarnation, this.options.incarnation ?? 0);
    const knowsKey = (keyId: string): boolean => keys.publicKeyOf(keyId) !== null;
    return {
      size: trees.size,
      root: toBase64url(trees.root()),
      checkpoints: this.checkpoints,
      covered_position: this.agreesAt,
      faults: this.faults,
      fault_count: this.faultCount,
      anchors: this.anchors.results({ size: trees.size, incarnation, knowsKey }),
      differs_between: this.differsBetween(),
    };
  }

  /**
   * Checkpoints of the log narrow what anchors show only if one of them differs: if all agree, whoever changed the log
   * has signed them again, and they say nothing about where.
   */
  private differsBetween(): LogAuditReport['differs_between'] {
    const anchors = this.anchors.bounds();
    const { differsAt } = this;
    const isNarrower =
      differsAt !== null &&
      differsAt > anchors.agreesAt &&
      differsAt <= (anchors.differsAt ?? Number.POSITIVE_INFINITY);
    if (isNarrower) return { after: Math.max(anchors.agreesAt, this.agreesAt), upto: differsAt };
    return anchors.differsAt === null ? null : { after: anchors.agreesAt, upto: anchors.differsAt };
  }

  private checkCheckpoint({ payload, position }: EventEnvelope): void {
    const faultsBefore = this.faultCount;
    const parsed = checkpointPayload.safeParse(payload);
    const fault = parsed.success
      ? (this.signatureFault(parsed.data) ?? this.treeFault(parsed.data, position))
      : { code: 'MALFORMED' as const, detail: parsed.error.issues[0]?.message ?? '' };
    if (fault !== null) this.report(position, fault.code, fault.detail);
    if (this.faultCount === faultsBefore) this.checkpoints += 1;
  }

  private signatureFault(checkpoint: Checkpoint): FaultWithoutPosition | null {
    const { key_id, position, signature } = checkpoint;
    const inactive = this.keys.inactiveReason(key_id);
    if (inactive !== null) return inactive;
    const text = checkpointText(this.options.project, checkpoint);
    return this.options.verify(this.keys.publicKeyOf(key_id)!, text, signature)
      ? null
      : { code: 'BAD_SIGNATURE', detail: `the key ${key_id} did not sign the checkpoint at ${position}` };
  }

  /** `at` is the position of the checkpoint itself. */
  private treeFault(checkpoint: Checkpoint, at: number): FaultWithoutPosition | null {
    const { position, root, subtrees } = checkpoint;
    this.checkAgainstEarlier(checkpoint, at);
    const tree = position < at ? this.trees.at(position) : null;
    if (tree === null) {
      const detail = `covers ${position}: expected one of the ${CHECKPOINT_LAG_MAX} positions before its own`;
      return { code: 'BAD_POSITION', detail };
    }
    if (toBase64url(tree.root()) !== root) {
      this.differsAt = Math.min(this.differsAt ?? position, position);
      return { code: 'ROOT_DIFFERS', detail: `the log has another root at ${position}` };
    }
    if (position < (this.differsAt ?? Number.POSITIVE_INFINITY)) {
      this.agreesAt = Math.max(this.agreesAt, position);
    }
    if (tree.subtrees().map(toBase64url).join() !== subtrees.join()) {
      return { code: 'BAD_SUBTREES', detail: `these are not the subtrees at ${position}` };
    }
    const detail = this.tiles.faultOf(checkpoint);
    return detail === null ? null : { code: 'BAD_TILES', detail };
  }

  /** Besides being right or wrong about the tree, a checkpoint can contradict what was signed before. */
  private checkAgainstEarlier(checkpoint: Checkpoint, at: number): void {
    const { incarnation, position } = checkpoint;
    if (incarnation < this.incarnation) {
      this.report(at, 'WRONG_INCARNATION', `incarnation ${incarnation} after ${this.incarnation}`);
    }
    this.incarnation = Math.max(this.incarnation, incarnation);
    if (this.statedRoots.contradictsCheckpoint(checkpoint)) this.reportTwoRoots(at, position);
  }

  private reportTwoRoots(at: number, position: number): void {
    this.report(at, 'TWO_ROOTS', `two signed roots for position ${position}`);
  }

  private report(position: number, code: AuditFaultCode, detail: string): void {
    this.faultCount += 1;
    if (this.faults.length < FAULTS_KEPT) this.faults.push({ position, code, detail });
  }
}
