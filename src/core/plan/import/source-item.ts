import type { DocumentPath } from '../../yaml/source-position.js';
import type { PlanFault, PlanFaultList } from '../plan-faults.js';

/** A task as another format has it: an item of a checklist, or an issue. */
export interface SourceItem {
  /** Unique in its document. It is kept in the metadata of the task, so that the next import finds the task again. */
  readonly original_id: string;
  /** Set if the id of the item in its source is a valid task id. */
  readonly task_id: string | null;
  readonly title: string;
  readonly instructions: string | null;
  /** Items with the same group go to one track. */
  readonly group: TrackGroup;
  readonly references: readonly Reference[];
  readonly subtasks: readonly SourceSubtask[];
  readonly priority: number | null;
  readonly is_done: boolean;
  /**
   * The line of the item, if the reader knows it; otherwise `path` is located in the document when a fault needs it.
   */
  readonly line?: number;
  readonly path: DocumentPath;
}

export interface SourceSubtask {
  readonly title: string;
  readonly is_done: boolean;
}

/** The origin of the items of one track: a heading, or a label. */
export interface TrackGroup {
  readonly name: string;
  /** The track that the name selects; null: the track that its items have in the plan, otherwise the next free letter. */
  readonly track: string | null;
}

/** A dependency as the source names it. */
export interface Reference {
  readonly text: string;
  /** False for a reference found in prose, which may name an item outside of the document. */
  readonly is_required: boolean;
}

export interface SourceDocument {
  readonly items: readonly SourceItem[];
  /** Whether an item without dependencies waits for the item before it in its track. */
  readonly is_ordered: boolean;
  readonly faults: PlanFaultList;
}

/** How an item of the source became a task. */
export interface MappedItem {
  readonly original_id: string;
  /** Null if the item was done already and therefore left out. */
  readonly task_id: string | null;
  readonly title: string;
  readonly status: 'new' | 'kept' | 'done';
  readonly line?: number;
}

export interface ImportFaults {
  readonly ok: false;
  readonly faults: readonly PlanFault[];
}
