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

export type Path = readonly (string | number)[];
export interface Place {
  readonly line: number;
  readonly column: number;
}
/** Where in the text a path is, or the nearest thing around it; null: there is no text. */
export type Locate = (path: Path) => Place | null;

export const FAULTS_MAX = 100;

/** Collects faults up to a bound, each with its place. */
export class FaultList {
  readonly #faults: PlanFault[] = [];

  constructor(readonly locate: Locate = () => null) {}

  add(code: PlanFaultCode, path: Path, message: string, place: Place | null = this.locate(path)): void {
    if (this.full) return;
    this.#faults.push({ code, message, path: pathText(path), ...(place ?? {}) });
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

export const pathText = (path: Path): string =>
  path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('');
