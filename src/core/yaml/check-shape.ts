import type { z } from 'zod';
import { closestNames } from '../closest-names.js';
import { fieldNamesAt } from './schema-fields.js';
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

/**
 * Reports values that JSON cannot represent, and forbidden names. False if the value is nested too deeply to be read
 * further.
 */
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
  const misspelt = misspeltFields(schema, value, parsed.error.issues);
  const isReportedAsMisspelt = ({ path: issuePath }: SchemaIssue) => misspelt.isMissingBySpelling(issuePath);
  for (const issue of parsed.error.issues)
    if (!isReportedAsMisspelt(issue)) reportIssue(issue, value, path, faults, misspelt.suggest);
  return null;
}

/** Suggests the known field that an unknown one may mean. */
type SuggestField = (parent: readonly PropertyKey[], name: string) => string | null;

/** The unknown fields that are close to a known one. */
function misspeltFields(schema: z.ZodType, value: unknown, issues: readonly SchemaIssue[]) {
  const keyOf = (path: readonly PropertyKey[]) => path.map(String).join('\0');
  const suggestions = new Map<string, string>();
  const missingBySpelling = new Set<string>();
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const at = issue.path as (string | number)[];
    const names = fieldNamesAt(schema, at, value);
    for (const name of issue.keys) {
      const [closest] = closestNames(name, names);
      if (closest === undefined) continue;
      suggestions.set(keyOf([...at, name]), closest);
      if (valueAt(value, [...at, closest]) === undefined) missingBySpelling.add(keyOf([...at, closest]));
    }
  }
  const suggest: SuggestField = (parent, name) => suggestions.get(keyOf([...parent, name])) ?? null;
  // The fault "command is missing" would only repeat the fault of the unknown field "comand".
  return {
    suggest,
    isMissingBySpelling: (path: readonly PropertyKey[]) => missingBySpelling.has(keyOf(path)),
  };
}

type SchemaIssue = z.core.$ZodIssue;

function reportIssue(
  issue: SchemaIssue,
  value: unknown,
  path: DocumentPath,
  faults: ShapeFaultSink,
  suggest: SuggestField = () => null,
): void {
  const issuePath = issue.path as (string | number)[];
  const fullPath = [...path, ...issuePath];
  if (issue.code === 'unrecognized_keys') {
    for (const name of issue.keys) {
      const closest = suggest(issuePath, name);
      const advice = closest === null ? '; check its spelling.' : `. Did you mean ${closest}?`;
      const message = `Unknown field ${JSON.stringify(name)}${advice}`;
      faults.add('UNKNOWN_FIELD', [...fullPath, name], message);
    }
  } else if (issue.code === 'invalid_union' && valueAt(value, issuePath) !== undefined) {
    reportUnionIssue(issue, valueAt(value, issuePath), fullPath, faults);
  } else {
    const isMissing = valueAt(value, issuePath) === undefined;
    const faultText = isMissing
      ? 'is missing'
      : `is not valid: ${issue.message.replace(/^Invalid input: /, '')}`;
    faults.add('BAD_VALUE', fullPath, `${pathLabel(fullPath, faults.documentName)} ${faultText}.`);
  }
}

/** Reports the issues of the union member with the value's own type, not the issues of every member. */
function reportUnionIssue(
  issue: z.core.$ZodIssueInvalidUnion,
  value: unknown,
  at: DocumentPath,
  faults: ShapeFaultSink,
): void {
  if (issue.errors.length === 0) {
    const faultText = issue.message.replace(/^Invalid discriminator value\. E/, 'e');
    faults.add('BAD_VALUE', at, `${pathLabel(at, faults.documentName)} is not valid: ${faultText}.`);
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
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}
