import type { z } from 'zod';
import type { DocumentPath } from './source-position.js';

const DEPTH_MAX = 32;
/** Receives the faults found: a bad value or an unknown field. */
export interface ShapeFaultSink {
  /** Name of the whole document in a message: `The plan`. */
  readonly documentName: string;
  /** Names that are properties of every object: not needed in a document, and dangerous to code that reads it. */
  readonly forbiddenNames: ReadonlySet<string>;
  badValue(path: DocumentPath, message: string): void;
  unknownField(path: DocumentPath, message: string): void;
}

/** Reports values that JSON cannot hold and forbidden names. False: nested too deeply to be read further. */
export function checkJsonShape(value: unknown, path: (string | number)[], faults: ShapeFaultSink): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    faults.badValue(path, `${value} is not a number that JSON can hold.`);
  }
  if (typeof value !== 'object' || value === null) return true;
  if (path.length >= DEPTH_MAX) {
    faults.badValue(path, `${faults.documentName} is nested at most ${DEPTH_MAX} deep.`);
    return false;
  }
  let isShallow = true;
  for (const [step, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    path.push(step);
    if (typeof step === 'string' && faults.forbiddenNames.has(step)) {
      faults.unknownField(path, `The name ${step} is not allowed here; choose another.`);
    }
    if (!checkJsonShape(item, path, faults)) isShallow = false;
    path.pop();
  }
  return isShallow;
}

/** The value parsed by the schema; null if it is invalid, with its faults reported. */
export function parseWithSchema<T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: DocumentPath,
  faults: ShapeFaultSink,
): T | null {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) reportIssue(issue, value, path, faults);
  return null;
}

type SchemaIssue = z.core.$ZodIssue;

function reportIssue(issue: SchemaIssue, value: unknown, path: DocumentPath, faults: ShapeFaultSink): void {
  const issuePath = issue.path as (string | number)[];
  const fullPath = [...path, ...issuePath];
  if (issue.code === 'unrecognized_keys') {
    for (const name of issue.keys) {
      faults.unknownField(
        [...fullPath, name],
        `There is no field ${JSON.stringify(name)} here; check its spelling.`,
      );
    }
  } else if (issue.code === 'invalid_union') {
    reportUnionIssue(issue, valueAt(value, issuePath), fullPath, faults);
  } else {
    const label = pathLabel(fullPath, faults.documentName);
    faults.badValue(fullPath, `${label} ${issueText(issue, valueAt(value, issuePath))}`);
  }
}

/** Reports the issues of the union member with the value's own type, not those of every member. */
function reportUnionIssue(
  issue: z.core.$ZodIssueInvalidUnion,
  value: unknown,
  at: DocumentPath,
  faults: ShapeFaultSink,
): void {
  const closestBranch = issue.errors.find(
    (issues) => !issues.some((one) => one.code === 'invalid_type' && one.path.length === 0),
  );
  if (closestBranch === undefined)
    faults.badValue(at, `${pathLabel(at, faults.documentName)} has the wrong type.`);
  else for (const inner of closestBranch) reportIssue(inner, value, at, faults);
}

function issueText(issue: SchemaIssue, value: unknown): string {
  if (value === undefined) return 'is missing.';
  return `is not as it should be: ${issue.message.replace(/^Invalid input: /, '')}.`;
}

function pathLabel(path: DocumentPath, documentName: string): string {
  const last = path.at(-1);
  return typeof last === 'string'
    ? JSON.stringify(last)
    : last === undefined
      ? documentName
      : `Item ${last + 1}`;
}

function valueAt(value: unknown, path: DocumentPath): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
