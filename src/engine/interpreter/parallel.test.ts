import { describe, expect, it } from 'vitest';
import type { AslParallelState, Catcher, StateMachine } from '../../core/engine/asl.js';
import { MachineError } from './machine-error.js';
import { MachineStopped, type MachineTask, runMachine } from './run-machine.js';
import { machineOf, runStates, ScriptedHost, task, untilAborted } from './testing.js';

const parallel = (
  branches: readonly StateMachine[],
  fields: Partial<AslParallelState> = {},
): AslParallelState => ({ Type: 'Parallel', Branches: branches, End: true, ...fields }) as AslParallelState;
const branchesCalling = (...names: readonly string[]): StateMachine[] =>
  names.map((name) => machineOf({ [name]: task(name) }));
const CATCH_ALL: readonly Catcher[] = [
  { ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'Caught' },
];

const throwOnCall = (error: Error) => (): never => {
  throw error;
};

/** A gate that a task waits at. */
function newGate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('a Parallel state', () => {
  // req: ITR-012
  it('returns the results in the order of its branches, whichever ends first', async () => {
    const second = newGate();
    const host = new ScriptedHost({
      first: () => second.opened.then(() => 1),
      second: () => {
        second.open();
        return 2;
      },
    });
    const outcome = await runStates(
      { Both: parallel(branchesCalling('first', 'second'), { ResultPath: '$.results' }) },
      { a: 0 },
      host,
    );
    expect(outcome).toEqual({ status: 'SUCCEEDED', output: { a: 0, results: [1, 2] } });
  });

  it('gives each branch its parameters', async () => {
    const echo = ({ input }: MachineTask): unknown => input;
    const host = new ScriptedHost({ first: echo, second: echo });
    const state = parallel(branchesCalling('first', 'second'), {
      InputPath: '$.a',
      Parameters: { 'x.$': '$.b' },
      ResultSelector: { 'last.$': '$[1]' },
      ResultPath: '$.c',
      OutputPath: '$.c',
    });
    expect(await runStates({ Both: state }, { a: { b: 1 } }, host)).toEqual({
      status: 'SUCCEEDED',
      output: { last: { x: 1 } },
    });
  });

  it('stops the other branches when a branch fails, waits for them, and fails with the error of that branch', async () => {
    const started = newGate();
    const ended: string[] = [];
    const host = new ScriptedHost({
      bad: async () => {
        await started.opened;
        throw new MachineError('Engine.Bad', 'why');
      },
      slow: async (machineTask) => {
        started.open();
        await untilAborted(machineTask).catch(async () => {
          // Stopping takes a while.
          await new Promise(setImmediate);
          ended.push(`slow: ${machineTask.signal.reason.name}`);
          throw new MachineError('Engine.Aborted', 'too late');
        });
      },
    });
    const outcome = await runStates({ Both: parallel(branchesCalling('slow', 'bad')) }, {}, host);
    expect(outcome).toEqual({ status: 'FAILED', error: 'Engine.Bad', cause: 'why' });
    expect(ended).toEqual(['slow: Engine.Bad']);
  });

  it('enters no further state of a stopped branch, not even one that catches', async () => {
    const started = newGate();
    const host = new ScriptedHost({
      bad: async () => {
        await started.opened;
        throw new MachineError('Engine.Bad', 'why');
      },
      slow: (machineTask) => {
        started.open();
        return untilAborted(machineTask);
      },
      deaf: async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return 'finished anyway';
      },
      after: () => 'after',
    });
    const branchOf = (name: string): StateMachine =>
      machineOf({
        [name]: task(name, {
          Retry: [{ ErrorEquals: ['States.ALL'] }],
          Catch: [{ ErrorEquals: ['States.ALL'], Next: 'After' }],
          Next: 'After',
        }),
        After: task('after'),
      });
    const outcome = await runStates(
      {
        All: parallel([branchOf('slow'), branchOf('deaf'), ...branchesCalling('bad')], { Catch: CATCH_ALL }),
        Caught: { Type: 'Succeed', OutputPath: '$.failure' },
      },
      {},
      host,
    );
    expect(outcome).toEqual({ status: 'SUCCEEDED', output: { Error: 'Engine.Bad', Cause: 'why' } });
    expect(host.states).toEqual(['All', 'slow', 'deaf', 'bad', 'Caught']);
    expect(host.sleeps).toEqual([]);
  });

  it('fails with the error of a Fail state in a branch, through several levels', async () => {
    const inner = machineOf({ Inner: parallel([machineOf({ F: { Type: 'Fail', Error: 'Engine.Bad' } })]) });
    expect(await runStates({ Outer: parallel([inner]) }, {})).toMatchObject({ error: 'Engine.Bad' });
  });
});

describe('a Parallel state of a machine that is stopped', () => {
  const parallelMachine = (names: readonly string[]): StateMachine =>
    machineOf({
      All: parallel(branchesCalling(...names), {
        Retry: [{ ErrorEquals: ['States.ALL'] }],
        Catch: CATCH_ALL,
      }),
      Caught: { Type: 'Succeed' },
    });

  it('stops and awaits the other branches before it throws, if the host stops the machine in one branch', async () => {
    const stopped = new MachineStopped('later');
    let isEnded = false;
    const host = new ScriptedHost({
      stop: throwOnCall(stopped),
      slow: (machineTask) =>
        untilAborted(machineTask).catch(async () => {
          await new Promise(setImmediate);
          isEnded = true;
        }),
    });
    await expect(runMachine(parallelMachine(['slow', 'stop']), {}, host)).rejects.toBe(stopped);
    expect(isEnded).toBe(true);
    expect(host.states).toEqual(['All', 'slow', 'stop']);
  });

  it('is stopped even if another branch has failed before', async () => {
    const stopped = new MachineStopped('later');
    const host = new ScriptedHost({
      bad: throwOnCall(new MachineError('Engine.Bad', 'why')),
      slow: (machineTask) => untilAborted(machineTask).catch(throwOnCall(stopped)),
    });
    await expect(runMachine(parallelMachine(['slow', 'bad']), {}, host)).rejects.toBe(stopped);
    expect(host.states).toEqual(['All', 'slow', 'bad']);
  });

  it('stops and awaits all branches, if its signal stops the machine', async () => {
    const controller = new AbortController();
    const ended: string[] = [];
    const waitForAbort = (machineTask: MachineTask): Promise<unknown> =>
      untilAborted(machineTask).finally(() => ended.push(machineTask.state));
    const host = new ScriptedHost({
      first: waitForAbort,
      second: (machineTask) => {
        const ending = waitForAbort(machineTask);
        controller.abort();
        return ending;
      },
    });
    const run = runMachine(parallelMachine(['first', 'second']), {}, host, controller.signal);
    await expect(run).rejects.toBeInstanceOf(MachineStopped);
    expect(ended).toEqual(['first', 'second']);
    expect(host.states).toEqual(['All', 'first', 'second']);
  });
});
