import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { StateMachine } from '../../src/core/engine/asl.js';
import { MachineError } from '../../src/engine/interpreter/machine-error.js';
import { type MachineOutcome, runMachine, WAIT_FOR_TOKEN } from '../../src/engine/interpreter/run-machine.js';
import {
  failingTask,
  functionArn,
  machineOf,
  ScriptedHost,
  task,
  untilAborted,
} from '../../src/engine/interpreter/testing.js';
import { skipGroup } from '../../src/stores/testing/on-database.js';
import { StepFunctionsServer } from '../support/step-functions/step-functions-server.js';
import { type GeneratedMachine, generatedMachine } from './generated-machine.js';
import { ScriptedFunctions } from './scripted-functions.js';

const DOCUMENTS = fc.sample(generatedMachine, { seed: 20_261_118, numRuns: 50 });

const ON_TIMEOUT = {
  TimeoutSeconds: 1,
  Retry: [{ ErrorEquals: ['States.TaskFailed'] }],
  Catch: [
    { ErrorEquals: ['States.TaskFailed'], Next: 'Failed' },
    { ErrorEquals: ['States.Timeout'], Next: 'Timeout' },
  ],
};
const TIMEOUTS = {
  'a call': { Call: task('silent', ON_TIMEOUT) },
  'a token': {
    Review: task('', {
      ...ON_TIMEOUT,
      Resource: WAIT_FOR_TOKEN,
      Parameters: {
        FunctionName: functionArn('silent-review'),
        Payload: { 'token.$': '$$.Task.Token' },
      },
    }),
  },
};

interface ComparedRun {
  readonly outcome: MachineOutcome;
  /** The inputs of each function, in the order of its calls. */
  readonly calls: Record<string, unknown[]>;
}

async function runHere({ machine, input, functions }: GeneratedMachine): Promise<ComparedRun> {
  const scripted = new ScriptedFunctions(functions);
  const host = new ScriptedHost();
  host.runTask = async (machineTask) => {
    const answer = await scripted.answer(machineTask.function, machineTask.input);
    if ('error' in answer) throw new MachineError(answer.error, answer.cause);
    return answer.result;
  };
  return { outcome: await runMachine(machine, input, host), calls: scripted.calls };
}

/** Runs a document on the stand-in. Its functions get a prefix, because all documents share the server. */
async function runOn(
  server: StepFunctionsServer,
  prefix: string,
  { machine, input, functions }: GeneratedMachine,
): Promise<ComparedRun> {
  const scripted = new ScriptedFunctions(functions);
  for (const name of Object.keys(functions)) {
    server.functions.add(`${prefix}${name}`, async (payload) => {
      const answer = await scripted.answer(name, payload);
      if (!name.startsWith('review')) return answer;
      await server.sendAnswer((payload as { token: string }).token, answer);
      return { result: null };
    });
  }
  const renamed = JSON.parse(JSON.stringify(machine).replaceAll(':function:', `:function:${prefix}`));
  return { outcome: await server.run(renamed as StateMachine, input), calls: scripted.calls };
}

/** The run without what always differs: tokens, and the JSON in which Lambda reports the cause of an error. */
const comparable = (run: ComparedRun): unknown =>
  JSON.parse(JSON.stringify(run), (key, value) => {
    if (key === 'token') return 'TOKEN';
    if (!/^cause$/i.test(key) || !value.startsWith('{')) return value;
    return JSON.parse(value).errorMessage;
  });

describe('the documents', () => {
  it('reach every kind of stage, and end in every way', async () => {
    const runs = await Promise.all(DOCUMENTS.map(runHere));
    const called = runs.flatMap(({ calls }) => Object.keys(calls)).map((name) => name.split('-')[0]);
    const kinds = ['task', 'check', 'failing', 'other', 'review', 'verdict', 'escalate'];
    expect(new Set(called)).toEqual(new Set(kinds));
    const ends = runs.map(({ outcome }) => (outcome.status === 'FAILED' ? outcome.error : outcome.status));
    expect(new Set(ends)).toEqual(
      new Set([
        'SUCCEEDED',
        'ClaimLost',
        'Engine.ClaimLost',
        'Engine.Failed',
        'Engine.Unavailable',
        'Engine.Throttled',
      ]),
    );
    expect(runs.some(({ calls }) => (calls.verdict?.length ?? 0) > 1)).toBe(true);
  });
});

const server = await StepFunctionsServer.start();
// Skipped also under ENGINES=all, because the coordinator does not run on the stand-in.
if ('missing' in server) skipGroup('step-functions', server.missing);
else {
  afterAll(() => server.stop());
  describe('the interpreter and Step Functions', () => {
    it.concurrent.each(DOCUMENTS.map((document, index) => ({ index, document })))(
      'run document $index alike',
      async ({ index, document }) => {
        const here = comparable(await runHere(document));
        const there = comparable(await runOn(server, `d${index}-`, document));
        expect(here, JSON.stringify(document)).toEqual(there);
      },
    );

    it.concurrent('end a machine after its time limit, which no state catches', async () => {
      const caught = [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }];
      const states = {
        Call: task('silent-for-good', { Catch: caught, Retry: [{ ErrorEquals: ['States.ALL'] }] }),
        Caught: { Type: 'Succeed' } as const,
      };
      const machine = { ...machineOf(states), TimeoutSeconds: 1 };
      server.functions.add('silent-for-good', () => new Promise(() => {}));
      const host = new ScriptedHost({ 'silent-for-good': untilAborted });
      const timedOut = expect.objectContaining({ status: 'FAILED', error: 'States.Timeout' });
      expect(await runMachine(machine, {}, host)).toEqual(timedOut);
      expect(await server.run(machine, {})).toEqual(timedOut);
    });

    it.concurrent.each(Object.entries(TIMEOUTS))(
      'do not treat a timeout of %s as a failed task',
      async (_, state) => {
        const machine = machineOf({
          ...state,
          Timeout: { Type: 'Succeed' },
          Failed: { Type: 'Fail', Error: 'No' },
        });
        // The first function never answers its call. For the second, nobody answers with the token.
        server.functions.add('silent', () => new Promise(() => {}));
        server.functions.add('silent-review', async () => ({ result: null }));
        const host = new ScriptedHost({
          silent: failingTask(['States.Timeout']),
          'silent-review': failingTask(['States.Timeout']),
        });
        const timedOut = {
          status: 'SUCCEEDED',
          output: expect.objectContaining({ Error: 'States.Timeout' }),
        };
        expect(await runMachine(machine, {}, host)).toEqual(timedOut);
        expect(await server.run(machine, {})).toEqual(timedOut);
      },
    );
  });
}
