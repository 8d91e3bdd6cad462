import type { z } from 'zod';
import type { DocumentPath } from './source-position.js';

const DEPTH_MAX = 32;
/** Receives the faults found: a bad value or an unknown field. */
export interface ShapeFaultSink {
  /** Name of the whole document in a message: `The plan`. */
  readonly documentName: string;
  /** Names that are properties of every object: not needed in a document, and dangerous to code that reads it. */
  readonly forbiddenNames: ReadonlySet<string>;
  add(code: 'BAD_VALUE' | 'UNKNOWN_FIELD', path: DocumentPath, message: string): void;
}

/** Reports values that JSON cannot hold and forbidden names. False: nested too deeply to be read further. */
export function checkJsonShape(value: unknown, path: (string | number)[], faults: ShapeFaultSink): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    faults.add('BAD_VALUE', path, `${value} is not a valid JSON number.`);
  }
  if (typeof value !== 'object' || value === null) return true;
  if (path.length >= DEPTH_MAX) {
    const message = `${faults.documentName} is nested too deeply; at most ${DEPTH_MAX} levels are allowed.`;
    faults.add('BAD_VALUE', path, message);
    return false;
  }
  let isShallow = true;
  for (const [step, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    path.push(step);
    if (typeof step === 'string' && faults.forbiddenNames.has(step)) {
      faults.add('UNKNOWN_FIELD', path, `The name ${step} is not allowed here; choose another.`);
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
      const message = `Unknown field ${JSON.stringify(name)}; check its spelling.`;
      faults.add('UNKNOWN_FIELD', [...fullPath, name], message);
    }
  } else if (issue.code === 'invalid_union' && valueAt(value, issuePath) !== undefined) {
    reportUnionIssue(issue, valueAt(value, issuePath), fullPath, faults);
  } else {
    const isMissing = valueAt(value, issuePath) === undefined;
    const problem = isMissing
      ? 'is missing'
      : `is not valid: ${issue.message.replace(/^Invalid input: /, '')}`;
    faults.add('BAD_VALUE', fullPath, `${pathLabel(fullPath, faults.documentName)} ${problem}.`);
  }
}

/** Reports the issues of the union member with the value's own type, not those of every member. */
function reportUnionIssue(
  issue: z.core.$ZodIssueInvalidUnion,
  value: unknown,
  at: DocumentPath,
  faults: ShapeFaultSink,
): void {
  if (issue.errors.length === 0) {
    const problem = issue.message.replace(/^Invalid discriminator value\. E/, 'e');
    faults.add('BAD_VALUE', at, `${pathLabel(at, faults.documentName)} is not valid: ${problem}.`);
    return;
  }
  const closestBranch = issue.errors.find(
    (issues) => !issues.some((one) => one.code === 'invalid_type' && one.path.length === 0),
  );
  if (closestBranch === undefined)
    faults.add('BAD_VALUE', at, `${pathLabel(at, faults.documentName)} has the wrong type.`);
  else for (const inner of closestBranch) reportIssue(inner, value, at, faults);
}

function pathLabel(path: DocumentPath, documentName: string): string {
  const last = path.at(-1);
  if (last === undefined) return documentName;
  return typeof last === 'string' ? JSON.stringify(last) : `Item ${last + 1}`;
}

function valueAt(value: unknown, path: DocumentPath): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
