import type { AslTaskState, StateMachine } from '../../core/engine/asl.js';
import { MachineError } from './machine-error.js';
import { type MachineHost, type MachineOutcome, type MachineTask, runMachine } from './run-machine.js';

/** `call` counts the calls from the same state, from 0. */
type TaskFunction = (task: MachineTask, call: number) => unknown;

/** A host whose tasks are functions of the test, and whose sleeps end at once. */
export class ScriptedHost implements MachineHost {
  readonly calls: MachineTask[] = [];
  readonly states: string[] = [];
  readonly sleeps: number[] = [];

  constructor(private readonly functions: Readonly<Record<string, TaskFunction>> = {}) {}

  async runTask(task: MachineTask): Promise<unknown> {
    const call = this.calls.filter(({ state }) => state === task.state).length;
    this.calls.push(task);
    const taskFunction = this.functions[task.function];
    if (taskFunction === undefined) throw new Error(`The test has no function ${task.function}.`);
    return taskFunction(task, call);
  }

  async sleep(seconds: number): Promise<void> {
    this.sleeps.push(seconds);
  }

  random(): number {
    return 0.25;
  }

  onState(state: string): void {
    this.states.push(state);
  }
}

/** A function that fails with these errors, one after the other, and then returns the result. */
export const failingTask =
  (errors: readonly string[], result: unknown = 'done'): TaskFunction =>
  (_, call) => {
    const error = errors[call];
    if (error !== undefined) throw new MachineError(error, `call ${call}`);
    return result;
  };

/** Rejects with the reason of the signal when the signal is aborted. */
export const untilAborted = ({ signal }: MachineTask): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

export const functionArn = (name: string): string => `arn:aws:lambda:eu-west-1:123456789012:function:${name}`;

/** A state that calls the function. It is the last state unless `fields` name the next one. */
export const task = (name: string, fields: Partial<AslTaskState> = {}): AslTaskState =>
  ({
    Type: 'Task',
    Resource: functionArn(name),
    ...fields,
    ...(fields.Next === undefined ? { End: true } : {}),
  }) as AslTaskState;

/** A machine that begins with the first of its states. */
export const machineOf = (States: StateMachine['States']): StateMachine => ({
  StartAt: Object.keys(States)[0] as string,
  States,
});

export const runStates = (
  states: StateMachine['States'],
  input: unknown,
  host: MachineHost = new ScriptedHost(),
): Promise<MachineOutcome> => runMachine(machineOf(states), input, host);
