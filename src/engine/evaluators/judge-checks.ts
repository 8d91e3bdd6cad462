import { sha256Hex } from '../../coordinator/runtime/identity.js';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import {
  type CheckOutcome,
  type Cost,
  NO_COST,
  outcomeWithoutCommand,
} from '../../core/engine/check-outcome.js';
import { ENGINE_ERRORS } from '../../core/engine/run-data.js';
import { truncatedSays } from '../../core/engine/says.js';
import { endOfMessage } from '../constructors/end-of-message.js';
import { EngineError } from '../engine-error.js';
import type { PromptText } from '../prompts/build-prompt.js';
import { buildJudgementPrompt } from '../prompts/judgement-prompt.js';
import type { Evaluator } from './evaluator.js';
import { type ParsedVerdicts, readVerdicts } from './verdicts.js';

export interface JudgementRequest {
  readonly checks: readonly EffectiveCheck[];
  /** The files of the candidate, as text. */
  readonly files: readonly PromptText[];
  /** A copy of the project with the candidate, thrown away later. */
  readonly folder: string;
  /** The session that made the candidate: an answer from this session is not accepted. */
  readonly constructed_by: string;
  readonly iteration: number;
  readonly signal: AbortSignal;
  readonly prompt_tokens_max?: number;
  /** A clock, in milliseconds. */
  now(): number;
}

interface JudgedChecks {
  /** One outcome for each check, in the order of the checks. */
  readonly outcomes: readonly CheckOutcome[];
  /** The answer of the evaluator, to be stored as a blob; null if it was not asked, or gave none that could be read. */
  readonly answer: Uint8Array | null;
}

/**
 * Asks an evaluator about the agent checks of a candidate. A check passes only with a complete and valid answer. Human and
 * deterministic checks never pass here, whatever the answer says. Rejects with an `EngineError` if the evaluator cannot
 * be asked.
 */
export async function judgeChecks(evaluator: Evaluator, judgement: JudgementRequest): Promise<JudgedChecks> {
  const startMs = judgement.now();
  const judgedChecks = judgement.checks.filter((check) => resultWithoutModel(check) === null);
  const reply =
    judgedChecks.length === 0 ? NOT_ASKED : await askForVerdicts(evaluator, judgement, judgedChecks);
  const answer = reply.text === null ? null : new TextEncoder().encode(reply.text);
  const duration_ms = Math.max(0, Math.round(judgement.now() - startMs));
  const output_sha256 = answer === null ? null : sha256Hex(answer);
  const outcomes = judgement.checks.map((check): CheckOutcome => {
    const fixedResult = resultWithoutModel(check);
    if (fixedResult !== null) return outcomeWithoutCommand(check, fixedResult);
    // One question covers all checks: its cost is recorded on the first of them.
    const cost = check === judgedChecks[0] ? reply.cost : NO_COST;
    const result = resultOf(check, reply.read);
    return { ...outcomeWithoutCommand(check, result), ...result, duration_ms, output_sha256, cost };
  });
  return { outcomes, answer };
}

type CheckJudgement = Pick<CheckOutcome, 'result' | 'says'>;

/** The result of a check that no model judges, and the reason; null if a model judges it. */
function resultWithoutModel({ type, skipped }: EffectiveCheck): CheckJudgement | null {
  if (type === 'human') return { result: 'pending', says: 'A person decides this check.' };
  if (type === 'deterministic') {
    return { result: 'error', says: 'A program decides this check, and none was run for it.' };
  }
  return skipped === null ? null : { result: 'skip', says: endOfMessage(skipped) };
}

interface EvaluatorReply {
  readonly read: ParsedVerdicts;
  /** The answer as it was given; null if there is none. */
  readonly text: string | null;
  readonly cost: Cost;
}
const NOT_ASKED: EvaluatorReply = { read: { fault: 'not asked' }, text: null, cost: NO_COST };

async function askForVerdicts(
  evaluator: Evaluator,
  judgement: JudgementRequest,
  checks: readonly EffectiveCheck[],
): Promise<EvaluatorReply> {
  const { files, folder, iteration, signal, constructed_by, prompt_tokens_max } = judgement;
  const names = checks.map(({ name }) => name);
  const prompt = buildJudgementPrompt({ checks, files }, prompt_tokens_max);
  // The prompt must contain every criterion, and every file that the evaluator cannot read in the folder: the missing one
  // could be the one that fails. The label of a criterion is the name of its check.
  const unseenLabel = prompt.incomplete.find((label) => !evaluator.canReadFolder || names.includes(label));
  if (unseenLabel !== undefined) {
    const fault = `the prompt has no room for ${JSON.stringify(unseenLabel)}; raise context.prompt_tokens_max`;
    return { ...NOT_ASKED, read: { fault } };
  }
  try {
    const question = { prompt: prompt.text, checks: names, folder, iteration, signal };
    const { text, session, cost } = await evaluator.ask(question);
    if (session === constructed_by) {
      const fault = 'the evaluator answered in the session that made the candidate; use a separate session';
      return { read: { fault }, text, cost };
    }
    return { read: readVerdicts(text, names), text, cost };
  } catch (error) {
    // Other errors are thrown: the machine tries again, or ends.
    if (!(error instanceof EngineError) || error.name !== ENGINE_ERRORS.malformed) throw error;
    return { read: { fault: error.message }, text: null, cost: error.cost ?? NO_COST };
  }
}

function resultOf(
  { name }: EffectiveCheck,
  read: ParsedVerdicts,
): CheckJudgement & Pick<CheckOutcome, 'issues'> {
  const verdict = 'fault' in read ? undefined : read.verdicts.get(name);
  if (verdict === undefined) {
    const fault = 'fault' in read ? read.fault : 'the answer has none about this check';
    return { result: 'error', says: truncatedSays(`No valid verdict: ${fault}`) };
  }
  const { result, score, issues } = verdict;
  const issueTexts = issues.map(({ criterion, says }) => `${criterion}: ${says}`).join('; ');
  return { result, says: truncatedSays(`Score ${score}. ${issueTexts}`.trim()), issues };
}
