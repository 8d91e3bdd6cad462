import type {
  AslParallelState,
  AslTaskState,
  MachineState,
  Retrier,
  StateMachine,
} from '../../core/engine/asl.js';
import { chosenState } from './choices.js';
import { isMatched, MachineError, runtimeError } from './machine-error.js';
import { STATES_TIMEOUT, type StartTimer, startTimeLimit, timeoutText } from './machine-time-limit.js';
import { caughtError, passOutput, pathValue, payloadCopy, stateInput, stateOutput } from './state-data.js';

/** Maximum number of transitions: ends a machine that would loop for ever. */
const TRANSITIONS_MAX = 25_000;

export const WAIT_FOR_TOKEN = 'arn:aws:states:::lambda:invoke.waitForTaskToken';

/** A task that a machine requests from its host. */
export interface MachineTask {
  readonly state: string;
  /** Name of the function, from its ARN. */
  readonly function: string;
  readonly input: unknown;
  /** Whether the result comes later, from outside. It may take up to `timeout_seconds`. */
  readonly isWaiting: boolean;
  readonly timeout_seconds: number | null;
  /**
   * Aborted if another branch has failed, or if the machine is stopped or reaches its time limit. A task that ends because
   * of the abort rejects with the reason of the signal.
   */
  readonly signal: AbortSignal;
}

/** What a machine needs from its environment: tasks, time and randomness. */
export interface MachineHost {
  /**
   * Rejects with an error whose name is compared with `Retry` and `Catch`; `States.Timeout` if it took too long. After an
   * error with `isRecorded`, which is replayed from the log, the task is tried again without a pause.
   */
  runTask(task: MachineTask): Promise<unknown>;
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
  /** Calls `expire` after the time limit of a machine, unless the timer is cleared first. Default: a timer of this process. */
  readonly startTimer?: StartTimer;
  /** From 0 to 1, for retries with jitter. */
  random(): number;
  /** Called for every state that is entered. */
  onState?(state: string): void;
}

export type MachineOutcome =
  | { readonly status: 'SUCCEEDED'; readonly output: unknown }
  | { readonly status: 'FAILED'; readonly error: string; readonly cause: string };

/**
 * The machine stops in its current state, to be run again later. Thrown by a host, or because the signal of the run was
 * aborted. No state catches this error.
 */
export class MachineStopped extends Error {
  override readonly name = 'MachineStopped';
}

/**
 * Runs a machine from its start to its end. No progress is kept: a machine that was stopped is run again from the start,
 * and its host returns the recorded results of completed tasks. After `TimeoutSeconds` the machine fails with
 * `States.Timeout`, which no state catches; tasks under way are stopped by their signals.
 */
export async function runMachine(
  machine: StateMachine,
  input: unknown,
  host: MachineHost,
  signal: AbortSignal = new AbortController().signal,
): Promise<MachineOutcome> {
  const limit = startTimeLimit(machine, signal, host.startTimer);
  try {
    const data = payloadCopy('The input', input);
    return { status: 'SUCCEEDED', output: await new MachineRun(host, data).run(machine, data, limit.signal) };
  } catch (error) {
    if (limit.isReached()) return { status: 'FAILED', error: STATES_TIMEOUT, cause: timeoutText(machine) };
    if (error instanceof MachineStopped || !(error instanceof Error)) throw error;
    if (signal.aborted) throw new MachineStopped('The machine was stopped.', { cause: signal.reason });
    return { status: 'FAILED', error: error.name, cause: error.message };
  } finally {
    limit.end();
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
      const [next, output]: [string | null, unknown] = await this.enterState(name, state, data, signal);
      [name, data] = [next, output];
    }
    return data;
  }

  /** Returns the next state (null at the end) and the output of this state. */
  private async enterState(
    name: string,
    state: MachineState,
    data: unknown,
    signal: AbortSignal,
  ): Promise<[string | null, unknown]> {
    const context = { Execution: { Input: this.executionInput }, State: { Name: name } };
    if (state.Type === 'Fail') throw new MachineError(state.Error, state.Cause ?? '');
    if (state.Type === 'Pass') return [state.Next ?? null, passOutput(state, data, context)];
    if (state.Type === 'Task')
      return this.withRetryAndCatch(state, data, signal, () =>
        this.runTaskState(name, state, data, context, signal),
      );
    if (state.Type === 'Parallel')
      return this.withRetryAndCatch(state, data, signal, () =>
        this.runParallelState(state, data, context, signal),
      );
    const input = pathValue(state.InputPath, data, context);
    const output = pathValue(state.OutputPath, input, context);
    if (state.Type === 'Choice') return [chosenState(state, input, context), output];
    if (state.Type === 'Succeed') return [null, output];
    await this.host.sleep(state.Seconds, signal);
    return [state.Next ?? null, output];
  }

  private async runTaskState(
    name: string,
    state: AslTaskState,
    data: unknown,
    context: object,
    signal: AbortSignal,
  ): Promise<unknown> {
    const isWaiting = state.Resource === WAIT_FOR_TOKEN;
    // A host identifies a waiting task by its state. The token is needed only because templates refer to it.
    const parameters = stateInput(state, data, isWaiting ? { ...context, Task: { Token: name } } : context);
    const invoked = isWaiting
      ? invocation(parameters)
      : { FunctionName: state.Resource, Payload: parameters };
    const result = await this.host.runTask({
      state: name,
      function: functionName(invoked.FunctionName),
      input: payloadCopy('The input', invoked.Payload),
      isWaiting,
      timeout_seconds: state.TimeoutSeconds ?? null,
      signal,
    });
    return stateOutput(state, data, payloadCopy('The result', result), context);
  }

  /** Runs all branches concurrently. If a branch fails, the others are stopped, and the state fails with its error. */
  private async runParallelState(
    state: AslParallelState,
    data: unknown,
    context: object,
    signal: AbortSignal,
  ): Promise<unknown> {
    const input = stateInput(state, data, context);
    const stopController = new AbortController();
    const stop = (): void => stopController.abort(signal.reason);
    // AbortSignal.any is not used: the signal of a long run would keep a reference for every parallel state.
    signal.addEventListener('abort', stop);
    const errors: unknown[] = [];
    const runs = state.Branches.map(async (branch) => {
      try {
        return await this.run(branch, input, stopController.signal);
      } catch (error) {
        errors.push(error);
        stopController.abort(error);
        return undefined;
      }
    });
    const results = await Promise.all(runs);
    signal.removeEventListener('abort', stop);
    if (errors.length > 0) throw errors.find((error) => error instanceof MachineStopped) ?? errors[0];
    return stateOutput(state, data, results, context);
  }

  /** Runs the attempt with the retries and catchers of the state. Returns the next state and its input. */
  private async withRetryAndCatch(
    state: AslTaskState | AslParallelState,
    data: unknown,
    signal: AbortSignal,
    attempt: () => Promise<unknown>,
  ): Promise<[string | null, unknown]> {
    const retriesMade = new Map<Retrier, number>();
    for (;;) {
      try {
        return [state.Next ?? null, await attempt()];
      } catch (error) {
        if (error instanceof MachineStopped || !(error instanceof Error) || signal.aborted) throw error;
        const delaySeconds = this.nextDelaySeconds(state.Retry ?? [], error.name, retriesMade);
        if (delaySeconds === null) {
          const caught = caughtError(state.Catch ?? [], error, data);
          if (caught === null) throw error;
          return caught;
        }
        if (!isRecorded(error)) await this.host.sleep(delaySeconds, signal);
        signal.throwIfAborted();
      }
    }
  }

  /** The delay before the next retry, which is counted in `retriesMade`. Null if there is no further retry. */
  private nextDelaySeconds(
    retriers: readonly Retrier[],
    error: string,
    retriesMade: Map<Retrier, number>,
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
    const retriesBefore = retriesMade.get(retrier) ?? 0;
    if (retriesBefore >= MaxAttempts) return null;
    retriesMade.set(retrier, retriesBefore + 1);
    const delay = Math.min(
      IntervalSeconds * BackoffRate ** retriesBefore,
      MaxDelaySeconds ?? Number.POSITIVE_INFINITY,
    );
    return JitterStrategy === 'FULL' ? delay * this.host.random() : delay;
  }
}

const isRecorded = (error: Error): boolean => (error as { isRecorded?: boolean }).isRecorded === true;

/** The name in the ARN of a function, which may end with a version or an alias; or a name as it is. */
const functionName = (arn: string): string => /:function:([^:]+)/.exec(arn)?.[1] ?? arn;

function invocation(parameters: unknown): { readonly FunctionName: string; readonly Payload?: unknown } {
  const { FunctionName, Payload } = Object(parameters) as { FunctionName?: unknown; Payload?: unknown };
  if (typeof FunctionName === 'string') return { FunctionName, Payload };
  throw runtimeError('A task that waits for a token needs the parameter FunctionName.');
}
