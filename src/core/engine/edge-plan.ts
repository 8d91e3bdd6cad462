import type { EffectiveCheck } from '../contract/checks.js';
import type { EvidencePolicy } from '../contract/values.js';
import { isObject } from '../events/plain-data.js';
import { effectiveChecklist } from '../methodology/definition/checklist.js';
import { canonicalEdge } from '../methodology/definition/edge-name.js';
import type {
  Budget,
  ConstructSettings,
  EngineSettings,
  EvaluateSettings,
} from '../methodology/definition/engine-settings.js';
import type { EdgeConfig, Feature, Methodology } from '../methodology/definition/methodology.js';
import { profileOf } from '../methodology/definition/profile.js';
import { ownValue } from '../own-value.js';

/**
 * The configuration of a run of an edge, for one feature: the compiler's input, and what `load_config` stores. Fixed when
 * the run begins. If a step finds that the project's configuration has changed since, the run is handed to a person.
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
  /** Names of context files that the file of the edge lists. */
  readonly context: { readonly required: readonly string[]; readonly recommended: readonly string[] };
  /** The effective checklist: deterministic, then agent, then human checks. */
  readonly checks: readonly EffectiveCheck[];
  /** Who decides the deterministic checks: this executor, or runners. */
  readonly evidence: EvidencePolicy;
  readonly max_iterations: number;
  readonly stuck_threshold: number;
  readonly construct: ConstructSettings | null;
  readonly evaluate: EvaluateSettings | null;
  readonly budget: Budget;
  readonly settings: Pick<EngineSettings, 'context' | 'review'>;
}

/**
 * The plan of an edge that the topology has. Limits come from the edge's file, otherwise from the profile. Settings of the
 * edge's file take precedence over the project's settings; those of a budget do so separately for each scope.
 */
export function edgePlan(
  methodology: Methodology,
  feature: Feature,
  edge: string,
  evidence: EvidencePolicy = 'reported',
): EdgePlan {
  const id = canonicalEdge(edge);
  const transition = methodology.topology.transitions.find((one) => one.edge === id);
  if (transition === undefined) throw new Error(`The topology has no edge ${id}.`);
  const config = ownValue(methodology.edges, id);
  const profile = profileOf(methodology, feature);
  const engine = methodology.engine ?? {};
  const { context, review } = engine;
  return {
    feature_id: feature.feature_id,
    edge: id,
    source: transition.source,
    target: transition.target,
    description: config?.description ?? '',
    guidance: guidanceOf(config),
    context: contextNames(config?.extra.context_guidance),
    checks: effectiveChecklist(methodology, feature, id),
    evidence,
    max_iterations: config?.max_iterations ?? profile.max_iterations,
    stuck_threshold: config?.stuck_threshold ?? profile.stuck_threshold,
    construct: config?.construct ?? engine.construct ?? null,
    evaluate: config?.evaluate ?? engine.evaluate ?? null,
    budget: { ...engine.budget, ...config?.budget },
    settings: { ...(context === undefined ? {} : { context }), ...(review === undefined ? {} : { review }) },
  };
}

function guidanceOf(config: EdgeConfig | undefined): string {
  const texts = [config?.description, config?.extra.agent_guidance];
  return texts
    .map((text) => (typeof text === 'string' ? text.trim() : ''))
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The names in `context_guidance`. Edge files of other Genesis tools have notes and other fields there, which are ignored. */
function contextNames(guidance: unknown): EdgePlan['context'] {
  const namesIn = (field: string): string[] => {
    const listed: unknown = isObject(guidance) ? guidance[field] : [];
    const names = (Array.isArray(listed) ? listed : []).filter((name) => typeof name === 'string');
    return [...new Set(names.map((name) => name.trim()))].filter((name) => name !== '');
  };
  return { required: namesIn('required'), recommended: namesIn('recommended') };
}

/** Names of the required agent checks that no evaluator judges. Skipped checks are left out. */
export const checksWithoutEvaluator = ({
  evaluate,
  checks,
}: Pick<EdgePlan, 'evaluate' | 'checks'>): string[] =>
  evaluate !== null
    ? []
    : checks
        .filter(({ type, required, skipped }) => type === 'agent' && required && skipped === null)
        .map(({ name }) => name);

/**
 * Why no candidate can converge under this checklist; null if one can. A required check that is skipped never passes. An
 * edge without required checks needs an optional check that passes. This cannot be a human check, because people decide
 * only required ones. Required agent checks without an evaluator are not a fault here: see `checksWithoutEvaluator`.
 */
export function nonConvergingPlanFault(
  { edge, evaluate, checks }: Pick<EdgePlan, 'edge' | 'evaluate' | 'checks'>,
  profile: string,
): string | null {
  const skipped = checks.filter((check) => check.required && check.skipped !== null);
  if (skipped.length > 0) return skippedChecksText(edge, skipped);
  const judges = { deterministic: true, agent: evaluate !== null, human: false };
  if (checks.some(({ type, required, skipped }) => required || (skipped === null && judges[type])))
    return null;
  return `${edge} has no required check under the profile ${profile}, so no candidate can converge. Choose another profile for the feature, or add a check to the file of the edge.`;
}

const SKIPPED_NAMED_MAX = 3;

function skippedChecksText(edge: string, skipped: readonly EffectiveCheck[]): string {
  const named = skipped.slice(0, SKIPPED_NAMED_MAX).map(({ name, skipped: reason }) => `${name}: ${reason}`);
  const others = skipped.length - named.length;
  const more = others === 0 ? '' : ` And ${others} more.`;
  return `${edge} has required checks that are skipped, so no candidate can converge. ${named.join(' ')}${more} Correct this in the configuration, or remove the check from the file of the edge, or set required: false there.`;
}
