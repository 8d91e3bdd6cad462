import { equalBytes, fromBase64url, type ProjectIds } from './audit-values.js';
import type { Anchor } from './checkpoint.js';
import { isOfLostHistory, type RecordedLoss } from './history-lost.js';
import { anchorFault, type ProofChecks } from './proof.js';

/** Stable codes for the result of comparing a log with an anchor. The first code in this list that applies is reported. */
type AnchorCode =
  /** The anchor itself is wrong, and says nothing about the log. */
  | 'BAD_SIGNATURE'
  | 'OTHER_PROJECT'
  /** The anchor is from history that was lost, and an operator accepted the loss. */
  | 'LOSS_ACCEPTED'
  /** The tail of the log is missing. */
  | 'LOG_SHORTER'
  | 'DIFFERS'
  /** The log has a lower incarnation than the anchor: an older state of the store is in use again. */
  | 'LOWER_INCARNATION'
  /** The root agrees, but the key that signed the anchor is not enrolled in the log. */
  | 'UNKNOWN_KEY'
  | 'AGREES';

export interface AnchorResult {
  readonly position: number;
  readonly code: AnchorCode;
  /** The comparison as a sentence for a person. */
  readonly detail: string;
}

/** The state of the log after its last event. */
interface AuditedLogEnd {
  readonly size: number;
  readonly incarnation: number;
  /** Losses of history that an operator accepted, each from a record that a coordinator signed. */
  readonly losses: readonly RecordedLoss[];
  hasEnrolledKey(keyId: string): boolean;
}

interface AnchorEntry {
  readonly anchor: Anchor;
  agrees?: boolean;
}

/** Compares a log with anchors while the log is read: at the position of each anchor, the log must have the anchor's root. */
export class AnchorComparison {
  /** The valid anchors, by position. */
  private readonly validEntries: AnchorEntry[] = [];
  private readonly invalid: AnchorResult[] = [];
  private nextIndex = 0;

  constructor(project: ProjectIds, anchors: readonly Anchor[], checks: ProofChecks) {
    for (const anchor of anchors) {
      const { position, tenant_id, project_id } = anchor;
      const fault = anchorFault(anchor, checks);
      if (fault !== null) this.invalid.push({ position, code: 'BAD_SIGNATURE', detail: fault.detail });
      else if (tenant_id !== project.tenant_id || project_id !== project.project_id) {
        const detail = `the anchor is of the project ${tenant_id}/${project_id}`;
        this.invalid.push({ position, code: 'OTHER_PROJECT', detail });
      } else this.validEntries.push({ anchor });
    }
    this.validEntries.sort((one, other) => one.anchor.position - other.anchor.position);
  }

  validAnchors(): Anchor[] {
    return this.validEntries.map(({ anchor }) => anchor);
  }

  /** Call it at each size of the tree. It computes `root` only for a size that an anchor has. */
  visit(size: number, root: () => Uint8Array): void {
    for (
      let entry = this.validEntries[this.nextIndex];
      entry?.anchor.position === size;
      entry = this.validEntries[this.nextIndex]
    ) {
      entry.agrees = equalBytes(root(), fromBase64url(entry.anchor.root));
      this.nextIndex += 1;
    }
  }

  /**
   * The position of the last anchor that agrees with the log before any that differs (0: none), and of the first that differs
   * (null: none). Anchors of lost history are left out.
   */
  agreementBounds(losses: readonly RecordedLoss[]): {
    readonly lastAgreeingPosition: number;
    readonly firstDifferingPosition: number | null;
  } {
    let lastAgreeingPosition = 0;
    for (const { anchor, agrees } of this.validEntries) {
      if (isOfLostHistory(losses, anchor)) continue;
      if (agrees === false) return { lastAgreeingPosition, firstDifferingPosition: anchor.position };
      if (agrees === true) lastAgreeingPosition = anchor.position;
    }
    return { lastAgreeingPosition, firstDifferingPosition: null };
  }

  anchorResults(log: AuditedLogEnd): AnchorResult[] {
    return [...this.invalid, ...this.validEntries.map((entry) => anchorResult(entry, log))];
  }
}

function anchorResult({ anchor, agrees }: AnchorEntry, log: AuditedLogEnd): AnchorResult {
  const { position, incarnation, key_id } = anchor;
  const loss = log.losses.find((candidate) => isOfLostHistory([candidate], anchor));
  if (loss !== undefined) {
    const detail = `the loss was accepted at position ${loss.position} by ${loss.by}: ${loss.reason}`;
    return { position, code: 'LOSS_ACCEPTED', detail };
  }
  if (agrees === undefined) {
    const detail = `the log ends at ${log.size}, but the anchor covers ${position}`;
    return { position, code: 'LOG_SHORTER', detail };
  }
  if (!agrees)
    return {
      position,
      code: 'DIFFERS',
      detail: `the root of the log at ${position} differs from the anchored root`,
    };
  if (incarnation > log.incarnation) {
    const detail = `the log has incarnation ${log.incarnation}, and the anchor has ${incarnation}`;
    return { position, code: 'LOWER_INCARNATION', detail };
  }
  if (!log.hasEnrolledKey(key_id)) {
    return { position, code: 'UNKNOWN_KEY', detail: `the log has never enrolled the key ${key_id}` };
  }
  return { position, code: 'AGREES', detail: `the log agrees up to ${position}` };
}
