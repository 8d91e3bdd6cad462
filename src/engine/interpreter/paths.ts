import type { PayloadTemplate, TemplateValue } from '../../core/engine/asl.js';
import { isObject } from '../../core/events/plain-data.js';
import { MachineError, runtimeError } from './machine-error.js';

/** Reference paths as the compiler emits them: `$`, `$.name`, `$.name[0].other`; `$$` is the context object. */
const PATH = /^\$(\$)?((?:\.[A-Za-z_][\w-]*|\[\d+\])*)$/;
const STEP = /\.([A-Za-z_][\w-]*)|\[(\d+)\]/g;

/** A field of an object, or an element of an array. */
type Step = string | number;

interface Sources {
  readonly input: unknown;
  readonly context: unknown;
}

/** The value at the path; undefined if there is none. */
export function readPath(path: string, { input, context }: Sources): unknown {
  const { isContext, steps } = parsePath(path);
  let value = isContext ? context : input;
  for (const step of steps) {
    if (!hasStep(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

/** A copy of the input with the result at the path. Missing objects are created, missing elements of arrays are not. */
export function writePath(path: string, input: unknown, result: unknown): unknown {
  const { isContext, steps } = parsePath(path);
  if (isContext) throw runtimeError(`A result cannot be written to the context: ${path}.`);
  return withValueAt(input, steps, result, path);
}

function withValueAt(value: unknown, steps: readonly Step[], result: unknown, path: string): unknown {
  const [step, ...remainingSteps] = steps;
  if (step === undefined) return result;
  if (typeof step === 'number') {
    if (!Array.isArray(value) || step >= value.length) throw unfitPathError(path);
    return value.with(step, withValueAt(value[step], remainingSteps, result, path));
  }
  const object = value === undefined ? {} : value;
  if (!isObject(object)) throw unfitPathError(path);
  const oldValue = hasStep(object, step) ? object[step] : undefined;
  return { ...object, [step]: withValueAt(oldValue, remainingSteps, result, path) };
}

/** Fills the template with the values of its paths. */
export function fillTemplate(template: PayloadTemplate, sources: Sources): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(template).map(([key, value]) =>
      key.endsWith('.$')
        ? [key.slice(0, -2), valueForKey(key, value, sources)]
        : [key, fillValue(value, sources)],
    ),
  );
}

function fillValue(value: TemplateValue, sources: Sources): unknown {
  if (Array.isArray(value)) return value.map((item: TemplateValue) => fillValue(item, sources));
  if (typeof value !== 'object' || value === null) return value;
  return fillTemplate(value as PayloadTemplate, sources);
}

function valueForKey(key: string, path: TemplateValue, sources: Sources): unknown {
  const value = readPath(String(path), sources);
  if (value !== undefined) return value;
  throw new MachineError('States.ParameterPathFailure', `${key} needs ${path}, which has no value.`);
}

function parsePath(path: string): { isContext: boolean; steps: Step[] } {
  const match = PATH.exec(path);
  if (match === null) throw runtimeError(`${path} is not a supported JSONPath.`);
  const steps = [...(match[2] as string).matchAll(STEP)];
  return {
    isContext: match[1] !== undefined,
    steps: steps.map(([, name, index]) => name ?? Number(index)),
  };
}

/** Whether the value has the step. Only arrays have indexes, and only objects have fields: an array has no `length`. */
function hasStep(value: unknown, step: Step): value is Readonly<Record<Step, unknown>> {
  if (typeof step === 'number') return Array.isArray(value) && step < value.length;
  return isObject(value) && Object.hasOwn(value, step);
}

const unfitPathError = (path: string): MachineError =>
  new MachineError('States.ResultPathMatchFailure', `The path ${path} does not fit the input.`);
