import type {
  Catcher,
  MachineState,
  ParallelStep,
  PassStep,
  PayloadTemplate,
  Retrier,
  StateMachine,
  TaskStep,
} from '../../core/engine/asl.js';
import { chosenState } from './choices.js';
import { isMatched, MachineError, runtimeError } from './machine-error.js';
import { fillTemplate, requirePath, writePath } from './paths.js';

/** Nothing larger crosses a state, as on AWS. */
const STATE_BYTES_MAX = 256 * 1024;
/** Bounds a machine that would loop for ever. */
const TRANSITIONS_MAX = 25_000;

export const WAIT_FOR_TOKEN = 'arn:aws:states:::lambda:invoke.waitForTaskToken';

/** A task that a machine asks for. */
export interface MachineTask {
  readonly state: string;
  /** Name of the function: the last part of its ARN. */
  readonly function: string;
  readonly input: unknown;
  /** The result comes later, from outside, and may take up to `timeout_seconds`. */
  readonly isWaiting: boolean;
  readonly timeout_seconds: number | null;
  /** Aborted if another branch has failed, or the machine is stopped. */
  readonly signal: AbortSignal;
}

/** What a machine runs on. */
export interface MachineHost {
  /** Rejects with an error whose name is compared with `Retry` and `Catch`; `States.Timeout` if it took too long. */
  runTask(task: MachineTask): Promise<unknown>;
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
  /** From 0 to 1, for retries with jitter. */
  random(): number;
  /** Is told of every state that is entered. */
  onState?(state: string): void;
}

export type MachineOutcome =
  | { readonly status: 'SUCCEEDED'; readonly output: unknown }
  | { readonly status: 'FAILED'; readonly error: string; readonly cause: string };

/** Thrown by a host to leave a machine as it is, to be run again later. It is never caught by the machine. */
export class MachineStopped extends Error {
  override readonly name = 'MachineStopped';
}

/**
 * Runs a machine from its start to its end. It keeps no state of its own: a machine that was stopped is run again from
 * the start, and its host answers the tasks that were completed.
 */
export async function runMachine(
  machine: StateMachine,
  input: unknown,
  host: MachineHost,
  signal: AbortSignal = new AbortController().signal,
): Promise<MachineOutcome> {
  try {
    return { status: 'SUCCEEDED', output: await new MachineRun(host, input).run(machine, input, signal) };
  } catch (error) {
    if (error instanceof MachineStopped || !(error instanceof Error)) throw error;
    return { status: 'FAILED', error: error.name, cause: error.message };
  }
}

class MachineRun {
  private transitions = 0;

  constructor(
    private readonly host: MachineHost,
    private readonly executionInput: unknown,
  ) {}

  async run({ StartAt, States }: StateMachine, input: unknown, signal: AbortSignal): Promise<unknown> {
    let name: string | null = StartAt;
    let data = input;
    while (name !== null) {
      signal.throwIfAborted();
      this.transitions += 1;
      if (this.transitions > TRANSITIONS_MAX)
        throw runtimeError(`The machine has made ${TRANSITIONS_MAX} transitions and does not end.`);
      const state: MachineState | undefined = Object.hasOwn(States, name) ? States[name] : undefined;
      if (state === undefined) throw runtimeError(`There is no state ${name}.`);
      this.host.onState?.(name);
      const [next, output]: [string | null, unknown] = await this.enter(name, state, data, signal);
      assertSize(name, output);
      [name, data] = [next, output];
    }
    return data;
  }

  /** The next state, null at the end, and the output. */
  private async enter(
    name: string,
    state: MachineState,
    data: unknown,
    signal: AbortSignal,
  ): Promise<[string | null, unknown]> {
    const context = { Execution: { Input: this.executionInput }, State: { Name: name } };
    if (state.Type === 'Fail') throw new MachineError(state.Error, state.Cause ?? '');
    const input = pathValue(state.InputPath, data, context);
    switch (state.Type) {
      case 'Succeed':
        return [null, pathValue(state.OutputPath, input, context)];
      case 'Choice':
        return [chosenState(state, input, context), pathValue(state.OutputPath, input, context)];
      case 'Wait':
        await this.host.sleep(state.Seconds, signal);
        return [state.Next ?? null, pathValue(state.OutputPath, input, context)];
      case 'Pass':
        return [state.Next ?? null, passed(state, data, input, context)];
      default:
        return this.guarded(state, data, signal, () =>
          state.Type === 'Task'
            ? this.task(name, state, data, context, signal)
            : this.parallel(state, data, context, signal),
        );
    }
  }

  private async task(
    name: string,
    state: TaskStep,
    data: unknown,
    context: object,
    signal: AbortSignal,
  ): Promise<unknown> {
    const parameters = stateInput(state, data, context);
    const isWaiting = state.Resource === WAIT_FOR_TOKEN;
    const invoked = isWaiting ? (parameters as { FunctionName?: unknown; Payload?: unknown }) : null;
    const result = await this.host.runTask({
      state: name,
      function: functionName(String(invoked === null ? state.Resource : invoked.FunctionName)),
      input: invoked === null ? parameters : invoked.Payload,
      isWaiting,
      timeout_seconds: state.TimeoutSeconds ?? null,
      signal,
    });
    return withResult(state, data, result, context);
  }

  /** All branches at once. If one fails, the others are stopped, and the state fails with its error. */
  private async parallel(
    state: ParallelStep,
    data: unknown,
    context: object,
    signal: AbortSignal,
  ): Promise<unknown> {
    const input = stateInput(state, data, context);
    const stopping = new AbortController();
    const either = AbortSignal.any([signal, stopping.signal]);
    let first: { error: unknown } | null = null;
    const runs = state.Branches.map(async (branch) => {
      try {
        return await this.run(branch, input, either);
      } catch (error) {
        first ??= { error };
        stopping.abort(error);
        return undefined;
      }
    });
    const results = await Promise.all(runs);
    // Assigned in a callback, which the compiler does not follow.
    const failed = first as { error: unknown } | null;
    if (failed !== null) throw failed.error;
    return withResult(state, data, results, context);
  }

  /** Tries again and catches errors as the state says. */
  private async guarded(
    state: TaskStep | ParallelStep,
    data: unknown,
    signal: AbortSignal,
    attempt: () => Promise<unknown>,
  ): Promise<[string | null, unknown]> {
    const retries = new Map<Retrier, number>();
    for (;;) {
      try {
        return [state.Next ?? null, await attempt()];
      } catch (error) {
        if (error instanceof MachineStopped || !(error instanceof Error) || signal.aborted) throw error;
        const delaySeconds = this.retryDelay(state.Retry ?? [], error.name, retries);
        if (delaySeconds === null) return caught(state.Catch ?? [], error, data);
        await this.host.sleep(delaySeconds, signal);
      }
    }
  }

  /** Null if it is not tried again. */
  private retryDelay(
    retriers: readonly Retrier[],
    error: string,
    retries: Map<Retrier, number>,
  ): number | null {
    const retrier = retriers.find(({ ErrorEquals }) => isMatched(ErrorEquals, error));
    if (retrier === undefined) return null;
    const {
      IntervalSeconds = 1,
      MaxAttempts = 3,
      BackoffRate = 2,
      MaxDelaySeconds,
      JitterStrategy,
    } = retrier;
    const before = retries.get(retrier) ?? 0;
    if (before >= MaxAttempts) return null;
    retries.set(retrier, before + 1);
    const delay = Math.min(
      IntervalSeconds * BackoffRate ** before,
      MaxDelaySeconds ?? Number.POSITIVE_INFINITY,
    );
    return JitterStrategy === 'FULL' ? delay * this.host.random() : delay;
  }
}

function caught(catchers: readonly Catcher[], error: Error, data: unknown): [string, unknown] {
  const catcher = catchers.find(({ ErrorEquals }) => isMatched(ErrorEquals, error.name));
  if (catcher === undefined) throw error;
  const { ResultPath = '$', Next } = catcher;
  const failure = { Error: error.name, Cause: error.message };
  return [Next, ResultPath === null ? data : writePath(ResultPath, data, failure)];
}

interface WithPaths {
  readonly InputPath?: string | null;
  readonly OutputPath?: string | null;
  readonly Parameters?: PayloadTemplate;
  readonly ResultSelector?: PayloadTemplate;
  readonly ResultPath?: string | null;
}

/** An absent path is the whole value, and null is an empty object. */
const pathValue = (path: string | null | undefined, input: unknown, context: object): unknown =>
  path === undefined ? input : path === null ? {} : requirePath(path, { input, context });

function stateInput(state: WithPaths, data: unknown, context: object): unknown {
  const input = pathValue(state.InputPath, data, context);
  return state.Parameters === undefined ? input : fillTemplate(state.Parameters, { input, context });
}

function withResult(state: WithPaths, data: unknown, result: unknown, context: object): unknown {
  const selected =
    state.ResultSelector === undefined
      ? result
      : fillTemplate(state.ResultSelector, { input: result, context });
  const { ResultPath = '$' } = state;
  const output = ResultPath === null ? data : writePath(ResultPath, data, selected);
  return pathValue(state.OutputPath, output, context);
}

function passed(state: PassStep, data: unknown, input: unknown, context: object): unknown {
  const parameters =
    state.Parameters === undefined ? input : fillTemplate(state.Parameters, { input, context });
  const { Parameters: _, Result: __, ...paths } = state;
  return withResult(paths, data, state.Result ?? parameters, context);
}

const functionName = (arn: string): string => arn.slice(arn.lastIndexOf(':') + 1);

function assertSize(state: string, output: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(output) ?? '');
  if (bytes <= STATE_BYTES_MAX) return;
  const message = `The output of ${state} has ${bytes} bytes; at most ${STATE_BYTES_MAX} may cross a state.`;
  throw new MachineError('States.DataLimitExceeded', message);
}
