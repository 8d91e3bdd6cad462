import type { AnchorLine } from '../../core/audit/checkpoint.js';
import type { ProjectKey } from '../../stores/store.js';

/** Identifies a checkpoint of a project. */
export type SentCheckpoint = Pick<AnchorLine, 'incarnation' | 'position'>;

/** After a loss of history, positions are lower again, and the incarnation is higher. */
export const isLater = (one: SentCheckpoint, other: SentCheckpoint | null): boolean =>
  other === null ||
  one.incarnation > other.incarnation ||
  (one.incarnation === other.incarnation && one.position > other.position);

/** A place where checkpoints are kept beside the log, such as a file on another disk. */
export interface AuditSink {
  /** For messages; without secrets. */
  readonly name: string;
  /** The last checkpoint of a project that the sink has; null if it has none. */
  lastSent(project: ProjectKey): Promise<SentCheckpoint | null>;
  /** Resolves when the sink has kept them. A repeat must change nothing. */
  send(anchors: readonly AnchorLine[]): Promise<void>;
}
