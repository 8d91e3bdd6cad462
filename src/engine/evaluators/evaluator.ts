import type { Cost } from '../../core/engine/check-outcome.js';

interface EvaluatorQuestion {
  readonly prompt: string;
  /** The names of the checks that the prompt asks about. */
  readonly checks: readonly string[];
  /** A copy of the project with the candidate, thrown away later. Only a command sees it. */
  readonly folder: string;
  readonly iteration: number;
  readonly signal: AbortSignal;
}

interface EvaluatorAnswer {
  readonly text: string;
  /** The session in which the answer was given. It must not be the session that made the candidate. */
  readonly session: string;
  readonly cost: Cost;
}

/** Something that judges a candidate: a model, a command-line agent or a transcript. Rejects with an `EngineError`. */
export interface Evaluator {
  /** Whether the prompt need not contain every file: an agent reads them in the folder, and a transcript reads none. */
  readonly canReadFolder: boolean;
  ask(question: EvaluatorQuestion): Promise<EvaluatorAnswer>;
}
