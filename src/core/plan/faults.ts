import { type Locate, type Path, type Place, pathText } from '../yaml/place.js';
import type { ShapeFaults } from '../yaml/shape.js';

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
export class FaultList implements ShapeFaults {
  readonly whole = 'The plan';
  readonly forbidden = FORBIDDEN_NAMES;
  readonly #faults: PlanFault[] = [];

  constructor(readonly locate: Locate = () => null) {}

  /** `place`: where it is known already. A fault beyond the bound is not even located: a plan can have one in every line. */
  add(code: PlanFaultCode, path: Path, message: string, place?: Place): void {
    if (this.full) return;
    this.#faults.push({ code, message, path: pathText(path), ...(place ?? this.locate(path) ?? {}) });
  }

  badValue(path: Path, message: string): void {
    this.add('BAD_VALUE', path, message);
  }
  unknownField(path: Path, message: string): void {
    this.add('UNKNOWN_FIELD', path, message);
  }

  /** A list that goes on from here; this one stays as it is. */
  copy(): FaultList {
    const copy = new FaultList(this.locate);
    copy.#faults.push(...this.#faults);
    return copy;
  }

  get full(): boolean {
    return this.#faults.length >= FAULTS_MAX;
  }
  get empty(): boolean {
    return this.#faults.length === 0;
  }

  /** As somebody reading the text from the top would meet them. */
  inOrder(): PlanFault[] {
    return [...this.#faults].sort(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
  }

  /** How a message names another place. */
  where(path: Path): string {
    const place = this.locate(path);
    return place === null ? pathText(path) : `line ${place.line}`;
  }
}
