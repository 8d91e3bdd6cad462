import type { PayloadTemplate, TemplateValue } from '../../core/engine/asl.js';
import { MachineError, runtimeError } from './machine-error.js';

/** Reference paths as the compiler emits them: `$`, `$.name`, `$.name[0].other`; `$$` is the context object. */
const PATH = /^\$(\$)?((?:\.[A-Za-z_][\w-]*|\[\d+\])*)$/;
const STEP = /\.([A-Za-z_][\w-]*)|\[(\d+)\]/g;

interface Sources {
  readonly input: unknown;
  readonly context: unknown;
}

/** The value at the path; undefined if there is none. */
export function readPath(path: string, { input, context }: Sources): unknown {
  const [, isContext, steps = ''] = PATH.exec(path) ?? fail(path);
  let value = isContext === undefined ? input : context;
  for (const step of keysOf(steps)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** The same; an error where there is no value. */
export function requirePath(path: string, sources: Sources): unknown {
  const value = readPath(path, sources);
  if (value === undefined)
    throw new MachineError('States.ParameterPathFailure', `The path ${path} has no value in the input.`);
  return value;
}

/** A copy of the input with the result at the path; objects on the way are created. */
export function writePath(path: string, input: unknown, result: unknown): unknown {
  const [, isContext, steps = ''] = PATH.exec(path) ?? fail(path);
  if (isContext !== undefined) throw runtimeError(`A result cannot be written to the context: ${path}.`);
  return written(input, keysOf(steps), result, path);
}

function written(value: unknown, keys: readonly string[], result: unknown, path: string): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return result;
  if (value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    throw new MachineError('States.ResultPathMatchFailure', `The path ${path} does not fit the input.`);
  }
  const object = (value ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...object,
    [key]: written(Object.hasOwn(object, key) ? object[key] : undefined, rest, result, path),
  };
}

/** The template with the values of its paths. */
export function fillTemplate(template: PayloadTemplate, sources: Sources): Record<string, unknown> {
  const filled: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(template)) {
    if (key.endsWith('.$')) filled[key.slice(0, -2)] = requirePath(String(value), sources);
    else filled[key] = filledValue(value, sources);
  }
  return filled;
}

function filledValue(value: TemplateValue, sources: Sources): unknown {
  if (Array.isArray(value)) return value.map((item: TemplateValue) => filledValue(item, sources));
  if (typeof value !== 'object' || value === null) return value;
  return fillTemplate(value as PayloadTemplate, sources);
}

const keysOf = (steps: string): string[] =>
  [...steps.matchAll(STEP)].map(([, name, index]) => name ?? (index as string));

function fail(path: string): never {
  throw runtimeError(`${path} is not a path that this interpreter reads.`);
}
