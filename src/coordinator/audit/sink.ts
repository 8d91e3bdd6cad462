import type { AnchorLine } from '../../core/audit/checkpoint.js';
import type { ProjectKey } from '../../stores/store.js';

/** A place where checkpoints are kept beside the log, such as a file on another disk. */
export interface AuditSink {
  /** For messages; without secrets. */
  readonly name: string;
  /** The position of the last checkpoint of a project that the sink has; 0 if it has none. */
  lastPosition(project: ProjectKey): Promise<number>;
  /** Resolves when the sink has kept them. A repeat must change nothing. */
  send(anchors: readonly AnchorLine[]): Promise<void>;
}
