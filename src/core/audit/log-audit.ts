import type { EventEnvelope } from '../events/envelope.js';
import { AUDIT_SUBJECT, HISTORY_SUBJECT, LOSS_SUBJECT } from '../subject.js';
import { AnchorComparison, type AnchorResult } from './anchor-comparison.js';
import { type AuditFault, type AuditFaultCode, AuditKeys, type FaultWithoutPosition } from './audit-keys.js';
import { type HashBytes, type ProjectIds, toBase64url, utf8, type VerifySignature } from './audit-values.js';
import {
  type Anchor,
  type Checkpoint,
  type CheckpointStatement,
  checkpointPayload,
  checkpointText,
} from './checkpoint.js';
import {
  HISTORY_LOST_EVENT,
  historyLostPayload,
  isOfLostHistory,
  type RecordedLoss,
} from './history-lost.js';
import { CHECKPOINT_EVENT, KEY_ENROLLED_EVENT, keyEnrolledPayload } from './key-events.js';
import { leafText } from './leaf.js';
import { leafHash } from './merkle-tree.js';
import { CHECKPOINT_LAG_MAX, RecentTrees } from './recent-trees.js';
import { signedRecordText } from './signed-record.js';
import { StatedRoots } from './stated-roots.js';
import { TileRecord } from './tile-record.js';

export interface LogAuditOptions {
  readonly hash: HashBytes;
  readonly verify: VerifySignature;
  readonly project: ProjectIds;
  readonly anchors?: readonly Anchor[];
  /** Ids of keys that are known to be the owner's, in addition to the anchors' keys. Without anchors they have no effect. */
  readonly trustedKeys?: readonly string[];
  /**
   * The incarnation of the store, if it is known. It can be higher than in the log, which may not have a checkpoint of this
   * incarnation yet.
   */
  readonly incarnation?: number;
}

export interface LogAuditReport {
  /** The number of events, and the root over all of them. */
  readonly size: number;
  readonly root: string;
  /**
   * The number of checkpoints without a fault. `covered_position`: the last position that an agreeing checkpoint covers, before
   * any checkpoint that differs.
   */
  readonly checkpoints: number;
  readonly covered_position: number;
  /** The first faults; `fault_count` counts all. */
  readonly faults: readonly AuditFault[];
  readonly fault_count: number;
  readonly anchors: readonly AnchorResult[];
  /**
   * Enrolled keys for which no anchor and no trusted key vouches, directly or through a rotation; empty without anchors. Every
   * writer to the log can enrol a key.
   */
  readonly unvouched_keys: readonly KeyEnrolment[];
  /** Losses of history that an operator accepted, each from a record that a coordinator signed. */
  readonly losses: readonly RecordedLoss[];
  /** Where the first event is that differs from what was signed: after `after`, at the latest at `upto`; null: none differs. */
  readonly differs_between: { readonly after: number; readonly upto: number } | null;
}

const FAULTS_KEPT = 1000;

interface KeyEnrolment {
  readonly key_id: string;
  readonly position: number;
}

interface Contradiction {
  readonly at: number;
  readonly statement: CheckpointStatement;
}

const twoRootsFault = (at: number, position: number): AuditFault => ({
  ...{ position: at, code: 'TWO_ROOTS' },
  detail: `two signed roots for position ${position}`,
});

/**
 * Audits a log that is fed to it event by event: computes the tree again, and compares it with the checkpoints in the
 * log and with anchors. Its memory does not grow with the log, except for one hash per tile that no checkpoint lists.
 */
export class LogAudit {
  private readonly keys: AuditKeys;
  private readonly anchors: AnchorComparison;
  private readonly tiles = new TileRecord();
  private readonly trees: RecentTrees;
  private readonly faults: AuditFault[] = [];
  private faultCount = 0;
  private readonly statedRoots = new StatedRoots();
  /** Two signed roots for one position. A loss recorded later in the log may explain them. */
  private readonly contradictions: Contradiction[] = [];
  private contradictionCount = 0;
  /** Enrolled keys that neither an anchor nor a trusted key vouches for. */
  private readonly unvouchedKeys: KeyEnrolment[] = [];
  /** Keys that count as the owner's. Null without anchors: nothing outside the log names an owner, so every key counts. */
  private readonly trustedKeys: Set<string> | null;
  private readonly losses: RecordedLoss[] = [];
  /** The highest incarnation in a checkpoint so far. */
  private incarnation = 0;
  private checkpoints = 0;
  /** The highest position covered by a checkpoint whose root agrees with the log, before any that differs; 0: none agrees. */
  private lastAgreeingPosition = 0;
  /**
   * The lowest position covered by a checkpoint whose root differs from the log; null if none differs. The first difference is
   * after `lastAgreeingPosition` and not after this.
   */
  private firstDifferingPosition: number | null = null;

  constructor(private readonly options: LogAuditOptions) {
    const { hash, verify, project, anchors = [] } = options;
    this.keys = new AuditKeys(hash, verify);
    this.trees = new RecentTrees(hash, (index, root) => this.tiles.addTile(index, root));
    this.anchors = new AnchorComparison(project, anchors, { hash, verify });
    const anchorKeys = this.anchors.validAnchors().map(({ key_id }) => key_id);
    this.trustedKeys =
      anchorKeys.length === 0 ? null : new Set([...anchorKeys, ...(options.trustedKeys ?? [])]);
    for (const anchor of this.anchors.validAnchors()) {
      if (this.statedRoots.addAnchor(anchor) === 'contradicts')
        this.addContradiction(anchor.position, anchor);
    }
  }

  /** `payloadSha256` is the digest of the payload before any redaction: see `OriginalDigests`. */
  visit(event: EventEnvelope, payloadSha256: string): void {
    const { hash } = this.options;
    const expected = this.trees.size + 1;
    if (event.position !== expected)
      this.report(event.position, 'BAD_POSITION', `expected position ${expected}`);
    if (event.subject === AUDIT_SUBJECT) this.applyAuditEvent(event);
    if (event.subject === LOSS_SUBJECT || event.subject === HISTORY_SUBJECT) this.checkRecord(event);
    this.trees.append(leafHash(hash, utf8(leafText(event, payloadSha256))));
    this.anchors.visit(this.trees.size, () => this.trees.root());
  }

  /** Only called for the audit subject: key events of other subjects have no effect, as in a coordinator. */
  private applyAuditEvent(event: EventEnvelope): void {
    const fault = this.keys.apply(event);
    if (fault !== null) this.report(fault.position, fault.code, fault.detail);
    else if (event.event_type === KEY_ENROLLED_EVENT) this.recordKeyTrust(event);
    if (event.event_type === CHECKPOINT_EVENT) this.checkCheckpoint(event);
  }

  result(): LogAuditReport {
    const { trees, keys } = this;
    const incarnation = Math.max(this.incarnation, this.options.incarnation ?? 0);
    const { losses } = this;
    const twoRootsFaults = this.contradictions
      .filter(({ statement }) => !isOfLostHistory(losses, statement))
      .map(({ at, statement }) => twoRootsFault(at, statement.position));
    const hasEnrolledKey = (keyId: string): boolean => keys.publicKeyOf(keyId) !== null;
    return {
      size: trees.size,
      root: toBase64url(trees.root()),
      checkpoints: this.checkpoints,
      covered_position: this.lastAgreeingPosition,
      faults: [...twoRootsFaults, ...this.faults]
        .sort((a, b) => a.position - b.position)
        .slice(0, FAULTS_KEPT),
      fault_count: this.faultCount + twoRootsFaults.length,
      anchors: this.anchors.anchorResults({
        size: trees.size,
        incarnation,
        losses,
        hasEnrolledKey,
      }),
      losses,
      unvouched_keys: this.unvouchedKeys,
      differs_between: this.differsBetween(losses),
    };
  }

  /**
   * The range of positions with the first difference; null if there is none. The checkpoints of the log narrow the range
   * only if one of them differs from the events. If all agree although an anchor differs, the log was signed again after the
   * change, and only the anchors locate it.
   */
  private differsBetween(losses: readonly RecordedLoss[]): LogAuditReport['differs_between'] {
    const anchorBounds = this.anchors.agreementBounds(losses);
    const { lastAgreeingPosition, firstDifferingPosition } = this;
    const isNarrower =
      firstDifferingPosition !== null &&
      firstDifferingPosition > anchorBounds.lastAgreeingPosition &&
      firstDifferingPosition <= (anchorBounds.firstDifferingPosition ?? Number.POSITIVE_INFINITY);
    if (isNarrower) {
      const after = Math.max(anchorBounds.lastAgreeingPosition, lastAgreeingPosition);
      return { after, upto: firstDifferingPosition };
    }
    return anchorBounds.firstDifferingPosition === null
      ? null
      : { after: anchorBounds.lastAgreeingPosition, upto: anchorBounds.firstDifferingPosition };
  }

  private checkCheckpoint({ payload, position }: EventEnvelope): void {
    const faultsBefore = this.faultCount + this.contradictionCount;
    const parsed = checkpointPayload.safeParse(payload);
    const fault = parsed.success
      ? (this.signatureFault(parsed.data) ?? this.treeFault(parsed.data, position))
      : { code: 'MALFORMED' as const, detail: parsed.error.issues[0]?.message ?? '' };
    if (fault !== null) this.report(position, fault.code, fault.detail);
    if (this.faultCount + this.contradictionCount === faultsBefore) this.checkpoints += 1;
  }

  private signatureFault(checkpoint: Checkpoint): FaultWithoutPosition | null {
    const { key_id, position, signature } = checkpoint;
    const inactiveFault = this.keys.inactiveFault(key_id);
    if (inactiveFault !== null) return inactiveFault;
    const text = checkpointText(this.options.project, checkpoint);
    return this.options.verify(this.keys.publicKeyOf(key_id)!, text, signature)
      ? null
      : { code: 'BAD_SIGNATURE', detail: `the key ${key_id} did not sign the checkpoint at ${position}` };
  }

  /** `at` is the position of the checkpoint itself. */
  private treeFault(checkpoint: Checkpoint, at: number): FaultWithoutPosition | null {
    const { position, root, subtrees } = checkpoint;
    this.checkAgainstEarlierRoots(checkpoint, at);
    const tree = position < at ? this.trees.treeOfSize(position) : null;
    if (tree === null) {
      const detail = `the checkpoint covers position ${position}, but must cover one of the ${CHECKPOINT_LAG_MAX} positions before its own`;
      return { code: 'BAD_POSITION', detail };
    }
    if (toBase64url(tree.root()) !== root) {
      this.firstDifferingPosition = Math.min(this.firstDifferingPosition ?? position, position);
      return {
        code: 'ROOT_DIFFERS',
        detail: `the checkpoint signs another root for position ${position} than the log has`,
      };
    }
    if (position < (this.firstDifferingPosition ?? Number.POSITIVE_INFINITY)) {
      this.lastAgreeingPosition = Math.max(this.lastAgreeingPosition, position);
    }
    if (tree.subtrees().map(toBase64url).join() !== subtrees.join()) {
      const detail = `the checkpoint lists other subtrees for position ${position} than the log has`;
      return { code: 'BAD_SUBTREES', detail };
    }
    const detail = this.tiles.faultOf(checkpoint);
    return detail === null ? null : { code: 'BAD_TILES', detail };
  }

  /**
   * Reports a checkpoint that contradicts or repeats an earlier signed root, or has a lower incarnation than an earlier
   * checkpoint, whether or not it fits the tree.
   */
  private checkAgainstEarlierRoots(checkpoint: Checkpoint, at: number): void {
    const { incarnation } = checkpoint;
    if (incarnation < this.incarnation) {
      const detail = `the checkpoint has incarnation ${incarnation}, and an earlier one has ${this.incarnation}`;
      this.report(at, 'WRONG_INCARNATION', detail);
    }
    this.incarnation = Math.max(this.incarnation, incarnation);
    const comparison = this.statedRoots.addCheckpoint(checkpoint);
    if (comparison === 'contradicts') this.addContradiction(at, checkpoint);
    // A coordinator writes one checkpoint per position, so another program wrote the second one.
    if (comparison === 'repeated')
      this.report(at, 'REPLAYED', `the log has the checkpoint at ${checkpoint.position} twice`);
  }

  private addContradiction(at: number, statement: CheckpointStatement): void {
    this.contradictionCount += 1;
    if (this.contradictions.length < FAULTS_KEPT) this.contradictions.push({ at, statement });
  }

  /** An anchor vouches for its key, and a trusted key vouches for its successor. */
  private recordKeyTrust({ payload, position }: EventEnvelope): void {
    const key = keyEnrolledPayload.parse(payload);
    const { key_id } = key;
    if (this.trustedKeys === null || this.trustedKeys.has(key_id)) return;
    if (key.how === 'rotated' && this.trustedKeys.has(key.previous_key_id)) this.trustedKeys.add(key_id);
    else if (this.unvouchedKeys.length < FAULTS_KEPT) this.unvouchedKeys.push({ key_id, position });
  }

  /** After the log's first key, a record that explains a change of the log, such as lost history, must be signed. */
  private checkRecord(event: EventEnvelope): void {
    const fault = this.recordFault(event);
    if (fault !== null) this.report(event.position, fault.code, fault.detail);
    if (fault !== null || event.event_type !== HISTORY_LOST_EVENT) return;
    const parsed = historyLostPayload.safeParse(event.payload);
    if (!parsed.success) this.report(event.position, 'MALFORMED', parsed.error.issues[0]?.message ?? '');
    else if (parsed.data.signature !== undefined)
      this.losses.push({ ...parsed.data, position: event.position });
  }

  private recordFault({ event_type, payload }: EventEnvelope): FaultWithoutPosition | null {
    const { key_id, signature } = payload;
    if (typeof key_id !== 'string' || typeof signature !== 'string') {
      const detail = `${event_type} is not signed: only a coordinator with an enrolled key may write it`;
      return this.keys.isEmpty ? null : { code: 'UNSIGNED_RECORD', detail };
    }
    const inactiveFault = this.keys.inactiveFault(key_id);
    if (inactiveFault !== null) return inactiveFault;
    if (this.trustedKeys?.has(key_id) === false) {
      const detail = `${event_type} is signed by ${key_id}, for which no anchor vouches. If the key is yours, repeat the command with --key ${key_id}.`;
      return { code: 'UNTRUSTED_KEY', detail };
    }
    const text = signedRecordText(this.options.project, event_type, payload);
    return this.options.verify(this.keys.publicKeyOf(key_id)!, text, signature)
      ? null
      : { code: 'BAD_SIGNATURE', detail: `the key ${key_id} did not sign this ${event_type}` };
  }

  private report(position: number, code: AuditFaultCode, detail: string): void {
    this.faultCount += 1;
    if (this.faults.length < FAULTS_KEPT) this.faults.push({ position, code, detail });
  }
}
