import { canonicalEdge } from './edge-name.js';
import {
  CHECK_TYPES,
  type Check,
  type CheckType,
  type Constraints,
  type EdgeConfig,
  type FeatureVector,
  type Methodology,
  type Profile,
} from './methodology.js';
import { edgesOf, profileOf } from './profile.js';
import { CONSTRAINTS_FILE, resolveVariables } from './variables.js';

/** A check as it stands for one feature on one edge: variables replaced, and whether it must pass. */
export interface EffectiveCheck {
  readonly name: string;
  readonly type: CheckType;
  readonly criterion: string;
  readonly required: boolean;
  readonly command?: string;
  readonly pass_criterion?: string;
  /** Why nobody can run it; null: it can be run. A required check that is skipped has not passed. */
  readonly skipped: string | null;
}

/** What a result must pass on this edge of this feature, in the order in which checks are run: humans last. */
export function effectiveChecklist(
  m: Methodology,
  v: FeatureVector,
  edge: string,
): readonly EffectiveCheck[] {
  const id = canonicalEdge(edge);
  const config = Object.hasOwn(m.edges, id) ? m.edges[id] : undefined;
  if (config === undefined) return [];
  const profile = profileOf(m, v);
  const constraints = { ...m.constraints, thresholds: thresholdsOf(m.constraints, v) };
  const types = Object.hasOwn(profile.evaluators_by_edge, id) ? profile.evaluators_by_edge[id] : undefined;
  const checks = [
    ...config.checklist.filter(({ type }) => (types ?? profile.evaluators).includes(type)),
    ...v.acceptance_criteria.map(criterionCheck),
    ...v.additional_checks,
  ];
  const asked = [...checks, ...humansAsked(m, profile, config, types ?? [], checks)];
  const effective = merged(asked.map((check) => resolved(check, constraints, m)));
  return effective.sort((a, b) => CHECK_TYPES.indexOf(a.type) - CHECK_TYPES.indexOf(b.type));
}

/** A feature's own thresholds come first, or a text would already say the project's. */
function thresholdsOf(constraints: Constraints, v: FeatureVector): Record<string, unknown> {
  const own = Object.entries(v.threshold_overrides).map(([name, value]) => [
    name.replace(/^\$?thresholds\./, ''),
    value,
  ]);
  return { ...constraints.thresholds, ...Object.fromEntries(own) };
}

function criterionCheck(said: FeatureVector['acceptance_criteria'][number]): Check {
  const command =
    said.check !== undefined && said.evaluator === 'deterministic' ? { command: said.check } : {};
  const { id: name, evaluator: type, description: criterion, required } = said;
  return { name, type, criterion, required, source: 'feature', ...command };
}

/** Humans whom the profile or the edge asks for besides those of the checklist. */
function humansAsked(
  m: Methodology,
  profile: Profile,
  config: EdgeConfig,
  types: readonly CheckType[],
  checks: readonly Check[],
): Check[] {
  const asked: Check[] = [];
  const human = { type: 'human', required: true, source: 'profile' } as const;
  const wanted = profile.human_required_on_all_edges || config.human_required || types.includes('human');
  const present = checks.some(({ type, required }) => type === 'human' && required === true);
  if (wanted && !present) {
    asked.push({ ...human, name: 'human_approval', criterion: 'A person agrees with the result' });
  }
  const last = edgesOf(profile, m.topology).findLast(({ optional }) => !optional)?.edge;
  const { additional_condition: condition } = profile;
  if (condition !== undefined && last === config.edge) {
    asked.push({ ...human, name: condition, criterion: `A person says: ${condition.replaceAll('_', ' ')}` });
  }
  return asked;
}

function resolved(check: Check, constraints: Constraints, m: Methodology): EffectiveCheck {
  const { name, type } = check;
  const texts: Record<string, string> = {};
  let skipped = undecided(name, m);
  for (const field of ['criterion', 'command', 'pass_criterion'] as const) {
    const text = check[field];
    if (text === undefined) continue;
    const answer = resolveVariables(text, constraints);
    texts[field] = answer.ok ? answer.text : text;
    if (!answer.ok) skipped ??= answer.says;
  }
  const { criterion = '', command, pass_criterion } = texts;
  if (type === 'deterministic' && !command) skipped ??= 'It has no command.';
  return {
    name,
    type,
    criterion,
    required: isRequired(check.required, constraints),
    ...(command ? { command } : {}),
    ...(pass_criterion ? { pass_criterion } : {}),
    skipped,
  };
}

/** What cannot be found out counts as required. */
function isRequired(required: boolean | string, constraints: Constraints): boolean {
  if (typeof required === 'boolean') return required;
  const answer = resolveVariables(required, constraints);
  return !(answer.ok && answer.text === 'false');
}

/** `security_model_resolved` cannot pass while the project says nothing of its mandatory `security_model`. */
function undecided(name: string, m: Methodology): string | null {
  const dimension = m.topology.constraint_dimensions.find((one) => `${one.name}_resolved` === name);
  if (dimension === undefined || !dimension.mandatory) return null;
  const { constraint_dimensions: said } = m.constraints;
  const decided = Object.hasOwn(said, dimension.name) && said[dimension.name];
  return decided ? null : `${dimension.name} is undecided in ${CONSTRAINTS_FILE}.`;
}

/** Of several checks of one name the most restrictive stands, and it is required if one of them is. */
function merged(checks: readonly EffectiveCheck[]): EffectiveCheck[] {
  const byName = new Map<string, EffectiveCheck>();
  for (const check of checks) {
    const first = byName.get(check.name);
    const stands = first === undefined || isStricter(check, first) ? check : first;
    byName.set(check.name, { ...stands, required: check.required || (first?.required ?? false) });
  }
  return [...byName.values()];
}

/** A human is asked whatever others say under that name. Else the first stands that can be run. */
function isStricter(check: EffectiveCheck, first: EffectiveCheck): boolean {
  const [human, was] = [check.type === 'human', first.type === 'human'];
  return human === was ? first.skipped !== null && check.skipped === null : human;
}
