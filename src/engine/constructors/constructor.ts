import type { Cost } from '../../core/engine/check-outcome.js';

/** One request to make a candidate. */
interface Construction {
  readonly prompt: string;
  /** The draft folder: the constructor's working directory. It contains the draft files so far. */
  readonly folder: string;
  readonly iteration: number;
  readonly signal: AbortSignal;
}

interface ConstructionResult {
  /** What the agent or model says about its work. Data, never a command. */
  readonly says: string;
  /** Identifies the session of the agent or model. No answer of an evaluator from the same session is accepted. */
  readonly constructed_by: string;
  readonly cost: Cost;
}

/** Makes a candidate by changing files in the draft folder. Rejects with an `EngineError`. */
export type Constructor = (construction: Construction) => Promise<ConstructionResult>;

/** A model's answer to a prompt. */
interface ModelAnswer {
  readonly text: string;
  readonly cost: Cost;
}
/** Sends a prompt to a model. Rejects with an `EngineError`, whose name says whether asking again can help. */
export type AskModel = (prompt: ModelPrompt) => Promise<ModelAnswer>;
export interface ModelPrompt {
  readonly system: string;
  readonly prompt: string;
  readonly signal: AbortSignal;
}
