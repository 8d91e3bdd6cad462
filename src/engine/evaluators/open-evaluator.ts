import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { costSchema, NO_COST } from '../../core/engine/check-outcome.js';
import type { EvaluateSettings } from '../../core/methodology/definition/engine-settings.js';
import type { AskModel } from '../constructors/constructor.js';
import { MODEL_TIMEOUT_SECONDS_DEFAULT } from '../constructors/model.js';
import type { ProcessContext } from '../constructors/open-constructor.js';
import { type AgentCommand, runAgent } from '../constructors/run-agent.js';
import { entryOf, readTranscript } from '../constructors/transcript.js';
import { openModel } from '../models/ask-model.js';
import { resolveProgram } from '../processes/resolve-program.js';
import { withTimeLimit } from '../time-limit.js';
import type { Evaluator } from './evaluator.js';
import { verdict } from './verdicts.js';

const SYSTEM_PROMPT =
  'You judge files of a software project by criteria. Answer with the JSON that the task describes.';

/** Opens the evaluator that is configured. Rejects with an `EngineError` that says what is missing. */
export async function openEvaluator(
  settings: EvaluateSettings,
  { folder, env = process.env }: ProcessContext,
): Promise<Evaluator> {
  switch (settings.type) {
    case 'command':
      return commandEvaluator({ ...settings, command: resolveProgram(settings.command, folder) }, env);
    case 'model': {
      const { type: _, timeout_seconds, ...model } = settings;
      return modelEvaluator(await openModel(model, env), timeout_seconds);
    }
    case 'replay':
      return replayEvaluator(folder, settings.transcript);
  }
}

/** Each question to a model is a new session, without anything from the construction. */
const modelEvaluator = (ask: AskModel, timeoutSeconds = MODEL_TIMEOUT_SECONDS_DEFAULT): Evaluator => ({
  canReadFolder: false,
  ask: async ({ prompt, signal }) => ({
    ...(await ask({ system: SYSTEM_PROMPT, prompt, signal: withTimeLimit(signal, timeoutSeconds) })),
    session: `model:${randomUUID()}`,
  }),
});

const commandEvaluator = (agent: AgentCommand, env: NodeJS.ProcessEnv): Evaluator => ({
  canReadFolder: true,
  ask: async ({ prompt, folder, signal }) => {
    const { message, session, cost } = await runAgent(agent, { prompt, folder, signal, env });
    return { text: message, session, cost };
  },
});

const recordedFields = {
  cost: costSchema.exactOptional(),
  session: z.string().min(1).max(256).exactOptional(),
};
const judgedEntry = z.union([
  z.strictObject({ verdicts: z.array(verdict), ...recordedFields }),
  /** The answer as text, to test answers in a wrong form. */
  z.strictObject({ answer: z.string(), ...recordedFields }),
]);

/** Answers with the verdicts that a transcript records for each iteration, about the checks of the question. */
async function replayEvaluator(projectFolder: string, file: string): Promise<Evaluator> {
  const transcript = await readTranscript(projectFolder, file, judgedEntry);
  return {
    canReadFolder: true,
    ask: async ({ iteration, checks }) => {
      const entry = entryOf(transcript, iteration);
      const { session = `replay:evaluate:${iteration}`, cost = NO_COST } = entry;
      if ('answer' in entry) return { text: entry.answer, session, cost };
      const verdicts = entry.verdicts.filter(({ name }) => checks.includes(name));
      return { text: JSON.stringify({ verdicts }), session, cost };
    },
  };
}
