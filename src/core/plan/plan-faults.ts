import type { FieldFault } from '../contract/problem.js';
import { FORBIDDEN_KEYS } from '../events/plain-data.js';
import type { ShapeFaultSink } from '../yaml/check-shape.js';
import {
  type DocumentPath,
  type LocatePath,
  pathText,
  type SourcePosition,
} from '../yaml/source-position.js';

export const PLAN_FAULT_CODES = [
  'BAD_YAML',
  'UNKNOWN_FIELD',
  'BAD_VALUE',
  'TOO_MANY_TASKS',
  'BAD_ID',
  'WRONG_TRACK',
  'DUPLICATE_ID',
  'DUPLICATE_SEQUENCE',
  'UNKNOWN_TASK',
  'SELF_DEPENDENCY',
  'UNKNOWN_DEPENDENCY',
  'CYCLE',
  'TASK_VANISHED',
  'ALREADY_COMPLETED',
] as const;
export type PlanFaultCode = (typeof PLAN_FAULT_CODES)[number];

/** A fault in a plan. It has line and column only if the plan was given as text. */
export interface PlanFault extends Omit<FieldFault, 'file' | 'code'> {
  readonly code: PlanFaultCode;
}

export const FAULTS_MAX = 100;

/** Collects faults with their locations, up to a limit. */
export class PlanFaultList implements ShapeFaultSink {
  readonly documentName = 'The plan';
  readonly forbiddenNames = FORBIDDEN_KEYS;
  readonly #faults: PlanFault[] = [];

  constructor(readonly locate: LocatePath = () => null) {}

  /**
   * `sourcePosition`: the position, if the caller knows it. Faults beyond the limit are not located, because a plan can
   * have a fault in every line.
   */
  add(code: PlanFaultCode, path: DocumentPath, message: string, sourcePosition?: SourcePosition): void {
    if (this.isFull) return;
    this.#faults.push({ code, message, path: pathText(path), ...(sourcePosition ?? this.locate(path)) });
  }

  /** An independent copy, for adding further faults. */
  copy(): PlanFaultList {
    const list = new PlanFaultList(this.locate);
    list.#faults.push(...this.#faults);
    return list;
  }

  get isFull(): boolean {
    return this.#faults.length >= FAULTS_MAX;
  }
  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  /** The faults in the order of the text. */
  sorted(): PlanFault[] {
    return [...this.#faults].sort(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
  }

  describeLocation(path: DocumentPath): string {
    const sourcePosition = this.locate(path);
    return sourcePosition === null ? pathText(path) : `line ${sourcePosition.line}`;
  }
}
