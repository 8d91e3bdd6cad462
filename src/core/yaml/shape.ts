import type { z } from 'zod';
import type { Path } from './place.js';

const DEPTH_MAX = 32;
/** Who is told what is wrong: a value, or a field that should not be there. */
export interface ShapeFaults {
  /** What the whole is called in a sentence: `The plan`. */
  readonly whole: string;
  /** Names that nobody needs there, and that code downstream may trip on: they mean something to every object. */
  readonly forbidden: ReadonlySet<string>;
  badValue(path: Path, message: string): void;
  unknownField(path: Path, message: string): void;
}

/** Tells what is not JSON, and names that could do harm. False: nested so deeply that nobody should read on. */
export function checkJson(value: unknown, path: (string | number)[], faults: ShapeFaults): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    faults.badValue(path, `${value} is not a number that JSON can hold.`);
  }
  if (typeof value !== 'object' || value === null) return true;
  if (path.length >= DEPTH_MAX) {
    faults.badValue(path, `${faults.whole} is nested at most ${DEPTH_MAX} deep.`);
    return false;
  }
  let shallow = true;
  for (const [step, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    path.push(step);
    if (typeof step === 'string' && faults.forbidden.has(step)) {
      faults.unknownField(path, `The name ${step} is not allowed here; choose another.`);
    }
    if (!checkJson(item, path, faults)) shallow = false;
    path.pop();
  }
  return shallow;
}

/** The value as the schema reads it, or null with its faults told. */
export function fits<T>(schema: z.ZodType<T>, value: unknown, path: Path, faults: ShapeFaults): T | null {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) tell(issue, value, path, faults);
  return null;
}

type Issue = z.core.$ZodIssue;

function tell(issue: Issue, value: unknown, path: Path, faults: ShapeFaults): void {
  const inner = issue.path as (string | number)[];
  const at = [...path, ...inner];
  if (issue.code === 'unrecognized_keys') {
    for (const name of issue.keys) {
      faults.unknownField(
        [...at, name],
        `There is no field ${JSON.stringify(name)} here; check its spelling.`,
      );
    }
  } else if (issue.code === 'invalid_union') {
    tellUnion(issue, valueAt(value, inner), at, faults);
  } else {
    const who = named(at, faults.whole);
    faults.badValue(at, `${who} ${complaint(issue, valueAt(value, inner))}`);
  }
}

/** Of the ways the value could have been meant, the one of its own type says what is wrong inside it. */
function tellUnion(issue: z.core.$ZodIssueInvalidUnion, value: unknown, at: Path, faults: ShapeFaults): void {
  const meant = issue.errors.find(
    (issues) => !issues.some((one) => one.code === 'invalid_type' && one.path.length === 0),
  );
  if (meant === undefined) faults.badValue(at, `${named(at, faults.whole)} has the wrong type.`);
  else for (const inner of meant) tell(inner, value, at, faults);
}

function complaint(issue: Issue, value: unknown): string {
  if (value === undefined) return 'is missing.';
  return `is not as it should be: ${issue.message.replace(/^Invalid input: /, '')}.`;
}

function named(path: Path, whole: string): string {
  const last = path.at(-1);
  return typeof last === 'string' ? JSON.stringify(last) : last === undefined ? whole : `Item ${last + 1}`;
}

function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
