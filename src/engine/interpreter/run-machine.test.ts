import { getEventListeners } from 'node:events';
import { describe, expect, it, test } from 'vitest';
import type { AslPassState, MachineState } from '../../core/engine/asl.js';
import { MachineStopped, runMachine, WAIT_FOR_TOKEN } from './run-machine.js';
import {
  failingTask,
  functionArn,
  machineOf,
  runStates,
  ScriptedHost,
  task,
  untilAborted,
} from './testing.js';

const LARGE_TEXT = 'x'.repeat(256 * 1024);
const succeededOutcome = (output: unknown) => ({ status: 'SUCCEEDED', output });
const failedOutcome = (error: string) => expect.objectContaining({ status: 'FAILED', error });

describe('a Pass state', () => {
  const INPUT = { a: { b: 1 }, c: 2 };
  test.each<[string, Omit<AslPassState, 'Type' | 'Next' | 'End'>, unknown]>([
    ['passes its input on', {}, INPUT],
    ['selects a part of the input', { InputPath: '$.a' }, { b: 1 }],
    ['has an empty input without an input path', { InputPath: null }, {}],
    ['selects a part of the output', { OutputPath: '$.c' }, 2],
    ['has an empty output without an output path', { OutputPath: null }, {}],
    ['returns a fixed result', { Result: { 'x.$': '$.c' } }, { 'x.$': '$.c' }],
    ['returns a fixed result that is false', { Result: false }, false],
    ['returns a fixed result that is null', { Result: null }, null],
    ['fills its parameters', { Parameters: { 'x.$': '$.c' } }, { x: 2 }],
    [
      'fills its parameters from its input path',
      { InputPath: '$.a', Parameters: { 'x.$': '$.b' } },
      { x: 1 },
    ],
    ['prefers a fixed result to parameters', { Parameters: { x: 1 }, Result: 'r' }, 'r'],
    ['discards the result', { Result: 'r', ResultPath: null }, INPUT],
    ['adds the result to its raw input', { InputPath: '$.a', ResultPath: '$.n' }, { ...INPUT, n: { b: 1 } }],
    ['keeps the raw input without a result', { InputPath: '$.a', ResultPath: null }, INPUT],
    [
      'applies its output path last',
      { Result: 'r', ResultPath: '$.a.n', OutputPath: '$.a' },
      { b: 1, n: 'r' },
    ],
    ['reads the input of the execution', { InputPath: '$$.Execution.Input.a' }, { b: 1 }],
    ['reads the name of the state', { Parameters: { 'x.$': '$$.State.Name' } }, { x: 'Only' }],
  ])('%s', async (_, fields, output) => {
    const state = { Type: 'Pass', End: true, ...fields } as AslPassState;
    expect(await runStates({ Only: state }, INPUT)).toEqual(succeededOutcome(output));
  });

  test.each<[string, Omit<AslPassState, 'Type' | 'Next' | 'End'>]>([
    ['States.Runtime', { InputPath: '$.none' }],
    ['States.Runtime', { OutputPath: '$.none' }],
    ['States.ParameterPathFailure', { Parameters: { 'x.$': '$.none' } }],
    ['States.ResultPathMatchFailure', { ResultPath: '$.c.d' }],
  ])('fails with %s: %j', async (error, fields) => {
    const state = { Type: 'Pass', End: true, ...fields } as AslPassState;
    expect(await runStates({ Only: state }, INPUT)).toEqual(failedOutcome(error));
  });
});

describe('a Task state', () => {
  it('passes its Parameters to the function and writes the ResultSelector’s output into the raw input at ResultPath', async () => {
    const host = new ScriptedHost({ work: () => ({ large: [1, 2], other: 3 }) });
    const state = task('work', {
      InputPath: '$.a',
      Parameters: { 'b.$': '$.b', fixed: 1 },
      ResultSelector: { 'second.$': '$.large[1]' },
      ResultPath: '$.result',
      TimeoutSeconds: 5,
    });
    const outcome = await runStates({ Work: state }, { a: { b: 1 } }, host);
    expect(outcome).toEqual(succeededOutcome({ a: { b: 1 }, result: { second: 2 } }));
    expect(host.calls).toEqual([
      expect.objectContaining({
        state: 'Work',
        function: 'work',
        input: { b: 1, fixed: 1 },
        isWaiting: false,
        timeout_seconds: 5,
      }),
    ]);
  });

  it('calls the function by its name without the version', async () => {
    const host = new ScriptedHost({ work: () => 'done' });
    const state = task('', { Resource: `${functionArn('work')}:live` });
    expect(await runStates({ Work: state }, {}, host)).toEqual(succeededOutcome('done'));
  });

  it('that waits for a token calls the function named in its Parameters with the Payload', async () => {
    const host = new ScriptedHost({ review: () => 'approved' });
    const state = task('', {
      Resource: WAIT_FOR_TOKEN,
      Parameters: {
        FunctionName: functionArn('review'),
        Payload: { 'data.$': '$', 'token.$': '$$.Task.Token' },
      },
    });
    expect(await runStates({ Review: state }, { a: 1 }, host)).toEqual(succeededOutcome('approved'));
    expect(host.calls).toEqual([
      expect.objectContaining({
        function: 'review',
        isWaiting: true,
        timeout_seconds: null,
        input: { data: { a: 1 }, token: expect.stringMatching(/./) },
      }),
    ]);
  });

  it('that waits for a token fails without a function', async () => {
    const state = task('', { Resource: WAIT_FOR_TOKEN });
    expect(await runStates({ Review: state }, null)).toEqual(failedOutcome('States.Runtime'));
  });

  it('has no token unless it waits', async () => {
    const host = new ScriptedHost({ work: () => 'done' });
    const state = task('work', { Parameters: { 'token.$': '$$.Task.Token' } });
    expect(await runStates({ Work: state }, {}, host)).toEqual(failedOutcome('States.ParameterPathFailure'));
  });

  it('returns null if its function returns nothing', async () => {
    const host = new ScriptedHost({ work: () => undefined });
    const outcome = await runStates({ Work: task('work', { ResultPath: '$.x' }) }, {}, host);
    expect(outcome).toEqual(succeededOutcome({ x: null }));
  });

  it('shares no data with its function', async () => {
    const result = { value: 'returned' };
    const host = new ScriptedHost({
      change: ({ input }) => {
        (input as { value: string }).value = 'changed';
        return result;
      },
      look: ({ input }) => {
        result.value = 'changed';
        return input;
      },
    });
    const states = {
      Change: task('change', { ResultPath: '$.result', Next: 'Look' }),
      Look: task('look'),
    };
    const input = { value: 'given' };
    expect(await runStates(states, input, host)).toEqual(
      succeededOutcome({ value: 'given', result: { value: 'returned' } }),
    );
    expect(input.value).toBe('given');
  });
});

describe('data over 256 KB', () => {
  const scriptedHost = (): ScriptedHost =>
    new ScriptedHost({ large: () => LARGE_TEXT, small: () => 'small' });
  test.each<[string, MachineState, unknown]>([
    ['the input of an execution', { Type: 'Succeed' }, LARGE_TEXT],
    ['a result', task('large'), {}],
    ['a result that is discarded', task('large', { ResultPath: null }), {}],
    ['an output', task('small', { ResultPath: '$.x' }), { a: LARGE_TEXT.slice(12) }],
    [
      'the parameters',
      task('small', { Parameters: { 'a.$': '$.x', 'b.$': '$.x' } }),
      { x: LARGE_TEXT.slice(20) },
    ],
  ])('fail the machine as %s', async (_, state, input) => {
    expect(await runStates({ Only: state }, input, scriptedHost())).toEqual(
      failedOutcome('States.DataLimitExceeded'),
    );
  });

  it('are measured in bytes', async () => {
    const input = 'ü'.repeat(128 * 1024);
    expect(await runStates({ Only: { Type: 'Succeed' } }, input)).toEqual(
      failedOutcome('States.DataLimitExceeded'),
    );
    expect((await runStates({ Only: { Type: 'Succeed' } }, input.slice(1))).status).toBe('SUCCEEDED');
  });

  it('are neither retried nor caught by a wildcard, but are caught by name', async () => {
    const largeTask = (ErrorEquals: string[]) =>
      task('large', {
        Retry: [{ ErrorEquals: ['States.ALL'] }],
        Catch: [{ ErrorEquals, Next: 'Caught' }],
      });
    const Caught: MachineState = { Type: 'Succeed', OutputPath: '$.Error' };
    const host = scriptedHost();
    expect(await runStates({ Large: largeTask(['States.ALL']), Caught }, {}, host)).toEqual(
      failedOutcome('States.DataLimitExceeded'),
    );
    expect(host.calls).toHaveLength(1);
    expect(
      await runStates({ Large: largeTask(['States.DataLimitExceeded']), Caught }, {}, scriptedHost()),
    ).toEqual(succeededOutcome('States.DataLimitExceeded'));
  });
});

describe('a machine', () => {
  it('runs one state after the other until a state ends the machine', async () => {
    const host = new ScriptedHost({ count: ({ input }) => (input as { n: number }).n + 1 });
    const states: Record<string, MachineState> = {
      Count: task('count', { ResultPath: '$.n', Next: 'Enough?' }),
      'Enough?': {
        Type: 'Choice',
        Choices: [{ Variable: '$.n', NumericGreaterThan: 2, Next: 'Done' }],
        Default: 'Rest',
      },
      Rest: { Type: 'Wait', Seconds: 7, Next: 'Count' },
      Done: { Type: 'Succeed', OutputPath: '$.n' },
    };
    expect(await runStates(states, { n: 1 }, host)).toEqual(succeededOutcome(3));
    expect(host.states).toEqual(['Count', 'Enough?', 'Rest', 'Count', 'Enough?', 'Done']);
    expect(host.sleeps).toEqual([7]);
  });

  it('fails with the error and the cause of a Fail state', async () => {
    const outcome = await runStates({ Bad: { Type: 'Fail', Error: 'Engine.Bad', Cause: 'why' } }, {});
    expect(outcome).toEqual({ status: 'FAILED', error: 'Engine.Bad', cause: 'why' });
  });

  test.each(['Missing', 'constructor'])('fails at the state %s, which it does not have', async (Next) => {
    expect(await runStates({ First: { Type: 'Pass', Next } }, {})).toEqual(failedOutcome('States.Runtime'));
  });

  it('is stopped after 25,000 transitions', async () => {
    const host = new ScriptedHost();
    expect(await runStates({ Loop: { Type: 'Pass', Next: 'Loop' } }, {}, host)).toEqual(
      failedOutcome('States.Runtime'),
    );
    expect(host.states).toHaveLength(25_000);
  });
});

describe('a machine that is stopped', () => {
  const WAITING_MACHINE = machineOf({
    Wait: task('wait', { Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }] }),
    Caught: { Type: 'Succeed' },
  });

  it('before it starts enters no state', async () => {
    const host = new ScriptedHost();
    const run = runMachine(WAITING_MACHINE, {}, host, AbortSignal.abort());
    await expect(run).rejects.toBeInstanceOf(MachineStopped);
    expect(host.states).toEqual([]);
  });

  it('during a task neither fails nor catches, and names the reason', async () => {
    const controller = new AbortController();
    const reason = new Error('shutdown');
    const host = new ScriptedHost({
      wait: (machineTask) => {
        const aborted = untilAborted(machineTask);
        controller.abort(reason);
        return aborted;
      },
    });
    const stopped = await runMachine(WAITING_MACHINE, {}, host, controller.signal).catch((error) => error);
    expect(stopped).toBeInstanceOf(MachineStopped);
    expect(stopped.cause).toBe(reason);
    expect(host.states).toEqual(['Wait']);
  });

  it('while it waits to try again does not call the task again', async () => {
    const controller = new AbortController();
    const host = new ScriptedHost({ work: failingTask(['Busy']) });
    // A host may also end a sleep early without an error.
    host.sleep = async () => controller.abort();
    const machine = machineOf({ Work: task('work', { Retry: [{ ErrorEquals: ['Busy'] }] }) });
    await expect(runMachine(machine, {}, host, controller.signal)).rejects.toBeInstanceOf(MachineStopped);
    expect(host.calls).toHaveLength(1);
  });

  it('by its host throws the error of the host', async () => {
    const stopped = new MachineStopped('later');
    const host = new ScriptedHost({
      wait: () => {
        throw stopped;
      },
    });
    await expect(runMachine(WAITING_MACHINE, {}, host)).rejects.toBe(stopped);
    expect(host.calls).toHaveLength(1);
  });

  it('leaves no listeners on its signal, however long it ran', async () => {
    const { signal } = new AbortController();
    const listeners: number[] = [];
    const host = new ScriptedHost({
      count: ({ input }) => {
        listeners.push(getEventListeners(signal, 'abort').length);
        return (input as { n: number }).n + 1;
      },
    });
    const machine = machineOf({
      Both: {
        Type: 'Parallel',
        Branches: [machineOf({ A: task('count') }), machineOf({ B: task('count') })],
        ResultSelector: { 'n.$': '$[0]' },
        Next: 'Enough?',
      },
      'Enough?': {
        Type: 'Choice',
        Choices: [{ Variable: '$.n', NumericEquals: 200, Next: 'Done' }],
        Default: 'Both',
      },
      Done: { Type: 'Succeed' },
    });
    expect(await runMachine(machine, { n: 0 }, host, signal)).toEqual(succeededOutcome({ n: 200 }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(new Set(listeners)).toEqual(new Set([1]));
  });
});

describe('the time limit of a machine', () => {
  /** A host whose timers expire when the test calls `expire`. */
  class TimedHost extends ScriptedHost {
    readonly timers: { seconds: number; expire: () => void; isCleared: boolean }[] = [];
    readonly startTimer = (seconds: number, expire: () => void) => {
      const timer = { seconds, expire, isCleared: false };
      this.timers.push(timer);
      return { clear: () => Object.assign(timer, { isCleared: true }) };
    };
  }
  const LIMITED_MACHINE = {
    ...machineOf({
      Call: task('call', { Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }] }),
      Caught: { Type: 'Succeed' },
    }),
    TimeoutSeconds: 300,
  };

  it('ends the machine with States.Timeout, stops its tasks, and is not caught', async () => {
    const host: TimedHost = new TimedHost({
      call: (machineTask) => {
        host.timers[0]?.expire();
        // The machine has timed out, whatever error the task throws.
        if (machineTask.signal.aborted) throw new Error('stopped');
        return untilAborted(machineTask);
      },
    });
    expect(await runMachine(LIMITED_MACHINE, {}, host)).toEqual(failedOutcome('States.Timeout'));
    expect(host.timers).toMatchObject([{ seconds: 300, isCleared: true }]);
    expect(host.states).toEqual(['Call']);
  });

  it('has no effect on a machine that ends in time', async () => {
    const host = new TimedHost({ call: () => 'done' });
    expect(await runMachine(LIMITED_MACHINE, {}, host)).toEqual(succeededOutcome('done'));
    expect(host.timers).toMatchObject([{ isCleared: true }]);
  });

  it('has no effect on a machine that is stopped before', async () => {
    const stopController = new AbortController();
    const host = new TimedHost({
      call: (machineTask) => {
        stopController.abort();
        return untilAborted(machineTask);
      },
    });
    await expect(runMachine(LIMITED_MACHINE, {}, host, stopController.signal)).rejects.toThrow(
      MachineStopped,
    );
  });
});
