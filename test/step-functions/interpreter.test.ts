import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { StateMachine } from '../../src/core/engine/asl.js';
import { MachineError } from '../../src/engine/interpreter/machine-error.js';
import { type MachineOutcome, runMachine } from '../../src/engine/interpreter/run-machine.js';
import { ScriptedHost } from '../../src/engine/interpreter/testing.js';
import { skipGroup } from '../../src/stores/testing/on-engine.js';
import { StepFunctionsServer } from '../support/step-functions/step-functions-server.js';
import { type GeneratedMachine, generatedMachine } from './generated-machine.js';
import { ScriptedFunctions } from './scripted-functions.js';

const DOCUMENTS = fc.sample(generatedMachine, { seed: 20_261_118, numRuns: 50 });

interface Run {
  readonly outcome: MachineOutcome;
  /** The inputs of each function, in the order of its calls. */
  readonly calls: Record<string, unknown[]>;
}

async function runHere({ machine, input, functions }: GeneratedMachine): Promise<Run> {
  const scripted = new ScriptedFunctions(functions);
  const host = new ScriptedHost();
  host.runTask = async (asked) => {
    const answer = await scripted.answer(asked.function, asked.input);
    if ('error' in answer) throw new MachineError(answer.error, answer.cause);
    return answer.result;
  };
  return { outcome: await runMachine(machine, input, host), calls: scripted.calls };
}

/** Functions get a prefix, since all documents share the server. */
async function runOn(
  server: StepFunctionsServer,
  prefix: string,
  { machine, input, functions }: GeneratedMachine,
): Promise<Run> {
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

/** Tokens differ, and Lambda reports the cause of an error as JSON. */
const comparable = (run: Run): unknown =>
  JSON.parse(JSON.stringify(run), (key, value) => {
    if (key === 'token') return 'TOKEN';
    if (!/^cause$/i.test(key) || !value.startsWith('{')) return value;
    return JSON.parse(value).errorMessage;
  });

const server = await StepFunctionsServer.start();
// Not demanded by ENGINES=all: the stand-in is no engine that anybody runs the coordinator on.
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
  });
}
