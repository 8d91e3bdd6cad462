import { describe, expect, it, test } from 'vitest';
import type { Catcher, MachineState, Retrier } from '../../core/engine/asl.js';
import { isMatched } from './machine-error.js';
import { failingTask, machineOf, runStates, ScriptedHost, task } from './testing.js';

async function runTask(errors: readonly string[], Retry: readonly Retrier[], Catch: readonly Catcher[] = []) {
  const host = new ScriptedHost({ work: failingTask(errors) });
  const states = { Work: task('work', { Retry, Catch }), Caught: { Type: 'Succeed' } as MachineState };
  const outcome = await runStates(states, { a: 1 }, host);
  return { outcome, calls: host.calls.length, sleeps: host.sleeps };
}

const DONE = { status: 'SUCCEEDED', output: 'done' };
const failedOutcome = (error: string) => expect.objectContaining({ status: 'FAILED', error });
const repeatedError = (count: number, error: string): string[] => Array<string>(count).fill(error);

describe('the names of a retrier or catcher', () => {
  test.each<[boolean, string, string]>([
    [true, 'Busy', 'Busy'],
    [false, 'Busy', 'busy'],
    [true, 'States.ALL', 'Busy'],
    [true, 'States.ALL', 'States.Timeout'],
    [true, 'States.ALL', 'States.NoChoiceMatched'],
    [false, 'States.ALL', 'States.DataLimitExceeded'],
    [false, 'States.ALL', 'States.Runtime'],
    [true, 'States.DataLimitExceeded', 'States.DataLimitExceeded'],
    [false, 'States.Runtime', 'States.Runtime'],
    [true, 'States.TaskFailed', 'Busy'],
    [true, 'States.TaskFailed', 'States.TaskFailed'],
    [false, 'States.TaskFailed', 'States.Timeout'],
    [false, 'States.TaskFailed', 'States.Runtime'],
    [false, 'States.TaskFailed', 'States.DataLimitExceeded'],
    [true, 'States.Timeout', 'States.Timeout'],
  ])('match (%s): %s, error %s', (expected, name, error) => {
    expect(isMatched([name], error)).toBe(expected);
    expect(isMatched(['Another', name], error)).toBe(expected);
    expect(isMatched([], error)).toBe(false);
  });
});

describe('a retry', () => {
  it('waits 1, 2 and 4 seconds by default', async () => {
    const retry = [{ ErrorEquals: ['Busy'] }];
    expect(await runTask(repeatedError(3, 'Busy'), retry)).toEqual({
      outcome: DONE,
      calls: 4,
      sleeps: [1, 2, 4],
    });
    expect(await runTask(repeatedError(4, 'Busy'), retry)).toMatchObject({
      outcome: failedOutcome('Busy'),
      calls: 4,
    });
  });

  test.each<[Omit<Retrier, 'ErrorEquals'>, number[]]>([
    [{ IntervalSeconds: 3, BackoffRate: 1 }, [3, 3, 3]],
    [{ IntervalSeconds: 2, BackoffRate: 1.5, MaxAttempts: 4 }, [2, 3, 4.5, 6.75]],
    [{ IntervalSeconds: 2, BackoffRate: 3, MaxDelaySeconds: 7 }, [2, 6, 7]],
    [{ IntervalSeconds: 4, JitterStrategy: 'FULL' }, [1, 2, 4]],
    [{ IntervalSeconds: 4, JitterStrategy: 'FULL', MaxDelaySeconds: 6 }, [1, 1.5, 1.5]],
    [{ IntervalSeconds: 4, JitterStrategy: 'NONE' }, [4, 8, 16]],
    [{ MaxAttempts: 0 }, []],
  ])('with %j waits %j seconds', async (fields, sleeps) => {
    const { outcome, ...run } = await runTask(repeatedError(99, 'Busy'), [
      { ErrorEquals: ['Busy'], ...fields },
    ]);
    expect(outcome).toEqual(failedOutcome('Busy'));
    expect(run).toEqual({ calls: sleeps.length + 1, sleeps });
  });

  it('is counted for each retrier separately', async () => {
    const retry = [
      { ErrorEquals: ['Busy'], MaxAttempts: 2, IntervalSeconds: 1 },
      { ErrorEquals: ['Slow'], MaxAttempts: 1, IntervalSeconds: 10 },
    ];
    expect(await runTask(['Busy', 'Slow', 'Busy'], retry)).toEqual({
      outcome: DONE,
      calls: 4,
      sleeps: [1, 10, 2],
    });
    expect(await runTask(['Busy', 'Slow', 'Slow'], retry)).toMatchObject({
      outcome: failedOutcome('Slow'),
      calls: 3,
    });
  });

  it('uses the first retrier that matches, even if that retrier is used up', async () => {
    const retry = [
      { ErrorEquals: ['Fatal'], MaxAttempts: 0 },
      { ErrorEquals: ['Busy'], MaxAttempts: 1 },
      { ErrorEquals: ['States.ALL'], MaxAttempts: 5, IntervalSeconds: 9, BackoffRate: 1 },
    ];
    expect(await runTask(['Fatal'], retry)).toMatchObject({ outcome: failedOutcome('Fatal'), calls: 1 });
    expect(await runTask(['Busy', 'Busy'], retry)).toMatchObject({
      outcome: failedOutcome('Busy'),
      calls: 2,
    });
    expect(await runTask(['Other', 'Busy', 'Other'], retry)).toEqual({
      outcome: DONE,
      calls: 4,
      sleeps: [9, 1, 9],
    });
  });

  it('is not made for an error that no retrier names', async () => {
    const retry = [{ ErrorEquals: ['States.TaskFailed'] }];
    expect(await runTask(['States.Timeout'], retry)).toMatchObject({ calls: 1, sleeps: [] });
    expect(await runTask(['Busy'], retry)).toMatchObject({ outcome: DONE, calls: 2 });
  });

  it('is counted from the start when the state is entered again', async () => {
    const host = new ScriptedHost({
      work: failingTask(['Busy', 'Busy', 'Fatal', 'Busy', 'Busy']),
    });
    const states = {
      Work: task('work', {
        Retry: [{ ErrorEquals: ['Busy'], MaxAttempts: 2 }],
        Catch: [{ ErrorEquals: ['Fatal'], Next: 'Again' }],
      }),
      Again: { Type: 'Pass', Next: 'Work' } as MachineState,
    };
    expect(await runStates(states, {}, host)).toEqual(DONE);
    expect(host.sleeps).toEqual([1, 2, 1, 2]);
  });

  it('of a Parallel state runs all its branches again', async () => {
    const host = new ScriptedHost({ a: () => 'a', b: failingTask(['Busy'], 'b') });
    const outcome = await runStates(
      {
        Both: {
          Type: 'Parallel',
          Branches: [machineOf({ A: task('a') }), machineOf({ B: task('b') })],
          Retry: [{ ErrorEquals: ['Busy'] }],
          End: true,
        },
      },
      {},
      host,
    );
    expect(outcome).toEqual({ status: 'SUCCEEDED', output: ['a', 'b'] });
    expect(host.calls.map(({ state }) => state)).toEqual(['A', 'B', 'A', 'B']);
  });
});

describe('a catcher', () => {
  test.each<[string, Pick<Catcher, 'ResultPath'>, unknown]>([
    ['replaces the data with the error', {}, { Error: 'Bad', Cause: 'call 0' }],
    [
      'adds the error to the raw input',
      { ResultPath: '$.failure' },
      { a: 1, failure: { Error: 'Bad', Cause: 'call 0' } },
    ],
    ['discards the error', { ResultPath: null }, { a: 1 }],
  ])('%s', async (_, fields, output) => {
    const { outcome } = await runTask(['Bad'], [], [{ ErrorEquals: ['Bad'], Next: 'Caught', ...fields }]);
    expect(outcome).toEqual({ status: 'SUCCEEDED', output });
  });

  it('comes after the retries', async () => {
    const catchers = [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }];
    const { outcome, calls } = await runTask(
      repeatedError(9, 'Busy'),
      [{ ErrorEquals: ['Busy'], MaxAttempts: 2 }],
      catchers,
    );
    expect(outcome).toEqual({ status: 'SUCCEEDED', output: { Error: 'Busy', Cause: 'call 2' } });
    expect(calls).toBe(3);
  });

  it('is the first that matches', async () => {
    const { outcome } = await runTask(
      ['Bad'],
      [],
      [
        { ErrorEquals: ['Other', 'Another'], Next: 'Missing' },
        { ErrorEquals: ['Other', 'Bad'], Next: 'Caught' },
        { ErrorEquals: ['States.ALL'], Next: 'Missing' },
      ],
    );
    expect(outcome.status).toBe('SUCCEEDED');
  });

  it('catches errors in the paths of its state, and ignores the output path of the state', async () => {
    const host = new ScriptedHost({ work: () => 'done' });
    const Catch = [{ ErrorEquals: ['States.ALL'], ResultPath: '$.e', Next: 'Caught' }];
    const workAndCaught = (fields: object): Record<string, MachineState> => ({
      Work: task('work', { Catch, ...fields }),
      Caught: { Type: 'Succeed', OutputPath: '$.e.Error' },
    });
    const caughtOutcome = (error: string) => ({ status: 'SUCCEEDED', output: error });
    expect(await runStates(workAndCaught({ Parameters: { 'x.$': '$.none' } }), { a: 1 }, host)).toEqual(
      caughtOutcome('States.ParameterPathFailure'),
    );
    expect(
      await runStates(workAndCaught({ ResultPath: '$.a.b', OutputPath: '$.a' }), { a: 1 }, host),
    ).toEqual(caughtOutcome('States.ResultPathMatchFailure'));
    expect(await runStates(workAndCaught({ InputPath: '$.none' }), { a: 1 }, host)).toEqual(
      failedOutcome('States.Runtime'),
    );
  });

  it('does not catch errors that it does not name', async () => {
    const { outcome } = await runTask(['Bad'], [], [{ ErrorEquals: ['Other'], Next: 'Caught' }]);
    expect(outcome).toEqual({ status: 'FAILED', error: 'Bad', cause: 'call 0' });
  });
});
