import type { AslPassState, Catcher, PayloadTemplate } from '../../core/engine/asl.js';
import { isMatched, MachineError, runtimeError } from './machine-error.js';
import { fillTemplate, readPath, writePath } from './paths.js';

/** Maximum size of the input of a state, the result of a task and the output of a state, as on AWS. */
const PAYLOAD_BYTES_MAX = 256 * 1024;

interface StatePaths {
  readonly InputPath?: string | null;
  readonly OutputPath?: string | null;
  readonly Parameters?: PayloadTemplate;
  readonly ResultSelector?: PayloadTemplate;
  readonly ResultPath?: string | null;
}

/** What `InputPath` or `OutputPath` selects: the whole value without a path, an empty object for null. */
export function pathValue(path: string | null | undefined, input: unknown, context: object): unknown {
  if (path === undefined) return input;
  if (path === null) return {};
  const value = readPath(path, { input, context });
  if (value === undefined) throw runtimeError(`The path ${path} has no value in the input.`);
  return value;
}

/** The input of a state: its parameters, filled from the value at its input path; without parameters that value. */
export function stateInput(state: StatePaths, data: unknown, context: object): unknown {
  const input = pathValue(state.InputPath, data, context);
  if (state.Parameters === undefined) return input;
  return withinSizeLimit('The parameters', fillTemplate(state.Parameters, { input, context }));
}

/** The output of a state. Its result path is relative to what came into the state, before the input path. */
export function stateOutput(state: StatePaths, data: unknown, result: unknown, context: object): unknown {
  const selected =
    state.ResultSelector === undefined
      ? result
      : fillTemplate(state.ResultSelector, { input: result, context });
  const { ResultPath = '$' } = state;
  const output = ResultPath === null ? data : writePath(ResultPath, data, selected);
  return withinSizeLimit('The output', pathValue(state.OutputPath, output, context));
}

export function passOutput(state: AslPassState, data: unknown, context: object): unknown {
  const { Result: fixedResult, ...paths } = state;
  const input = stateInput(paths, data, context);
  return stateOutput(paths, data, fixedResult === undefined ? input : fixedResult, context);
}

/** The state that the error leads to, and its input; null if the error is not caught. */
export function caughtError(
  catchers: readonly Catcher[],
  { name, message }: Error,
  data: unknown,
): [string, unknown] | null {
  const catcher = catchers.find(({ ErrorEquals }) => isMatched(ErrorEquals, name));
  if (catcher === undefined) return null;
  const { ResultPath = '$', Next } = catcher;
  if (ResultPath === null) return [Next, data];
  return [Next, withinSizeLimit('The output', writePath(ResultPath, data, { Error: name, Cause: message }))];
}

/** A copy by way of JSON: a task and the machine do not see each other's later changes. */
export function payloadCopy(what: string, value: unknown): unknown {
  return JSON.parse(jsonWithinSizeLimit(what, value));
}

function withinSizeLimit(what: string, value: unknown): unknown {
  jsonWithinSizeLimit(what, value);
  return value;
}

function jsonWithinSizeLimit(what: string, value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  const bytes = Buffer.byteLength(text);
  if (bytes <= PAYLOAD_BYTES_MAX) return text;
  throw new MachineError(
    'States.DataLimitExceeded',
    `${what} of the state has ${bytes} bytes; at most ${PAYLOAD_BYTES_MAX} are allowed. Pass a reference instead.`,
  );
}
