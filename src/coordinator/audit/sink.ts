import type { Anchor } from '../../core/audit/checkpoint.js';
import type { ProjectKey } from '../../stores/store.js';

/** Identifies a checkpoint of a project. */
export type CheckpointId = Pick<Anchor, 'incarnation' | 'position'>;

/** Compares incarnations first: after a loss of history, the incarnation is higher and positions are lower again. */
export const isLater = (one: CheckpointId, other: CheckpointId | null): boolean =>
  other === null ||
  one.incarnation > other.incarnation ||
  (one.incarnation === other.incarnation && one.position > other.position);

/** A place where checkpoints are kept beside the log, such as a file on another disk. */
export interface AuditSink {
  /** For messages; without secrets. */
  readonly name: string;
  /** The last checkpoint of a project that the sink has; null if it has none. */
  lastSent(project: ProjectKey): Promise<CheckpointId | null>;
  /** Resolves when the sink has stored the anchors. A call may be repeated, because readers ignore duplicates. */
  send(anchors: readonly Anchor[]): Promise<void>;
}
