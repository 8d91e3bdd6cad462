import type { ShapeFaultSink } from '../yaml/check-shape.js';
import {
  type DocumentPath,
  type LocatePath,
  pathText,
  type SourcePosition,
} from '../yaml/source-position.js';

/** Everything that can be wrong with a plan, by its stable name. */
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

export interface PlanFault {
  readonly code: PlanFaultCode;
  readonly message: string;
  /** As in `tracks.A[0].depends_on[1]`. */
  readonly path: string;
  /** Counted from 1; only where the plan came as text. */
  readonly line?: number;
  readonly column?: number;
}

export const FAULTS_MAX = 100;

const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Collects faults up to a bound, each with its place. */
export class PlanFaultList implements ShapeFaultSink {
  readonly documentName = 'The plan';
  readonly forbiddenNames = FORBIDDEN_NAMES;
  readonly #faults: PlanFault[] = [];

  constructor(readonly locate: LocatePath = () => null) {}

  /** `place`: where it is known already. A fault beyond the bound is not even located: a plan can have one in every line. */
  add(code: PlanFaultCode, path: DocumentPath, message: string, sourcePosition?: SourcePosition): void {
    if (this.isFull) return;
    this.#faults.push({
      code,
      message,
      path: pathText(path),
      ...(sourcePosition ?? this.locate(path) ?? {}),
    });
  }

  badValue(path: DocumentPath, message: string): void {
    this.add('BAD_VALUE', path, message);
  }
  unknownField(path: DocumentPath, message: string): void {
    this.add('UNKNOWN_FIELD', path, message);
  }

  /** A list that goes on from here; this one stays as it is. */
  copy(): PlanFaultList {
    const copy = new PlanFaultList(this.locate);
    copy.#faults.push(...this.#faults);
    return copy;
  }

  get isFull(): boolean {
    return this.#faults.length >= FAULTS_MAX;
  }
  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  /** As somebody reading the text from the top would meet them. */
  sorted(): PlanFault[] {
    return [...this.#faults].sort(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
  }

  /** How a message names another place. */
  describeLocation(path: DocumentPath): string {
    const sourcePosition = this.locate(path);
    return sourcePosition === null ? pathText(path) : `line ${sourcePosition.line}`;
  }
}
