import type { Anchor } from '../../core/audit/checkpoint.js';
import type { ProjectKey } from '../../stores/store.js';

/** Identifies a checkpoint of a project. */
export type CheckpointId = Pick<Anchor, 'incarnation' | 'position'>;

/**
 * Whether `one` is later than `other`; true if there is no other. The incarnation decides first: it rises after a loss of
 * history, while positions fall.
 */
export const isLater = (one: CheckpointId, other: CheckpointId | null): boolean =>
  other === null ||
  one.incarnation > other.incarnation ||
  (one.incarnation === other.incarnation && one.position > other.position);

/** A place outside the log where checkpoints are kept, such as a file on another disk. */
export interface AuditSink {
  /** The name of the sink in messages. It contains no secret. */
  readonly name: string;
  /** The last checkpoint of a project that the sink has; null if it has none. */
  lastSent(projectKey: ProjectKey): Promise<CheckpointId | null>;
  /** Resolves when the sink has stored the anchors. A call may be repeated, because readers ignore duplicates. */
  send(anchors: readonly Anchor[]): Promise<void>;
}
