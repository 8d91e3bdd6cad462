import type { EffectiveCheck } from '../contract/tasks.js';
import type {
  Budget,
  ConstructSettings,
  EngineSettings,
  EvaluateSettings,
} from '../methodology/definition/engine-settings.js';

/**
 * Everything a run of an edge goes by, for one feature: the compiler's input, and what `load_config` stores. Pinned when
 * the run begins; a change of the configuration ends the iteration.
 */
export interface EdgePlan {
  readonly feature_id: string;
  readonly edge: string;
  /** Asset types. */
  readonly source: string;
  readonly target: string;
  readonly description: string;
  /** For the agent: the edge's `agent_guidance` and its description. */
  readonly guidance: string;
  /** Names of context files that the edge asks for. */
  readonly context: { readonly required: readonly string[]; readonly recommended: readonly string[] };
  /** The effective checklist: deterministic, then agent, then human checks. */
  readonly checks: readonly EffectiveCheck[];
  readonly max_iterations: number;
  readonly stuck_threshold: number;
  readonly construct: ConstructSettings | null;
  readonly evaluate: EvaluateSettings | null;
  readonly budget: Budget;
  readonly settings: Pick<EngineSettings, 'context' | 'review'>;
}
