import type { EffectiveCheck } from '../../contract/checks.js';
import { CHECK_TYPES, type CheckType } from '../../contract/values.js';
import { ownValue } from '../../own-value.js';
import { canonicalEdge } from './edge-name.js';
import type {
  AcceptanceCriterion,
  CheckDefinition,
  EdgeConfig,
  Feature,
  Methodology,
  Profile,
  ProjectConstraints,
} from './methodology.js';
import { profileEdges, profileOf } from './profile.js';
import { CONSTRAINTS_FILE, resolveVariables } from './variables.js';

/**
 * The checks of a result on this edge of this feature, required and optional, in the order in which they run: human checks
 * last. Empty if the edge has no configuration.
 */
export function effectiveChecklist(
  project: Methodology,
  feature: Feature,
  edge: string,
): readonly EffectiveCheck[] {
  const id = canonicalEdge(edge);
  const config = ownValue(project.edges, id);
  if (config === undefined) return [];
  const methodology = { ...project, constraints: constraintsOf(project, feature) };
  const profile = profileOf(methodology, feature);
  const edgeTypes = ownValue(profile.evaluators_by_edge, id);
  const checks = [
    ...config.checklist.filter(({ type }) => (edgeTypes ?? profile.evaluators).includes(type)),
    ...feature.acceptance_criteria.map(checkOfCriterion),
    ...feature.additional_checks,
  ];
  const allChecks = [...checks, ...extraHumanChecks(methodology, profile, config, edgeTypes ?? [], checks)];
  const effective = mergeByName(allChecks.map((check) => resolveCheck(check, methodology)));
  return effective.sort((a, b) => CHECK_TYPES.indexOf(a.type) - CHECK_TYPES.indexOf(b.type));
}

/** The deterministic checks of all edges, whatever the profile of a feature leaves out. */
export const projectChecks = (project: Methodology): readonly EffectiveCheck[] =>
  Object.values(project.edges)
    .flatMap(({ checklist }) => checklist.filter(({ type }) => type === 'deterministic'))
    .map((check) => resolveCheck(check, project));

/**
 * The constraints of the project, overridden by the thresholds of the feature. The variables in the checks are resolved
 * with these constraints.
 */
function constraintsOf({ constraints }: Methodology, feature: Feature): ProjectConstraints {
  const entries = Object.entries(feature.threshold_overrides);
  const overrides = entries.map(([name, value]) => [name.replace(/^\$?thresholds\./, ''), value]);
  return { ...constraints, thresholds: { ...constraints.thresholds, ...Object.fromEntries(overrides) } };
}

function checkOfCriterion(acceptance: AcceptanceCriterion): CheckDefinition {
  const { id: name, evaluator: type, description: criterion, required, check } = acceptance;
  const command = check !== undefined && type === 'deterministic' ? { command: check } : {};
  return { name, type, criterion, required, source: 'feature', ...command };
}

/** Human checks that the profile or the edge requires beyond the checklist. */
function extraHumanChecks(
  methodology: Methodology,
  profile: Profile,
  config: EdgeConfig,
  edgeTypes: readonly CheckType[],
  checks: readonly CheckDefinition[],
): CheckDefinition[] {
  const extraChecks: CheckDefinition[] = [];
  const humanCheckFields = { type: 'human', required: true, source: 'profile' } as const;
  const isHumanRequired =
    profile.human_required_on_all_edges || config.human_required || edgeTypes.includes('human');
  const hasHumanCheck = checks.some(({ type, required }) => type === 'human' && required === true);
  if (isHumanRequired && !hasHumanCheck) {
    extraChecks.push({
      ...humanCheckFields,
      name: 'human_approval',
      criterion: 'A person agrees with the result',
    });
  }
  const lastEdge = profileEdges(profile, methodology.topology).findLast(({ optional }) => !optional)?.edge;
  const { additional_condition: condition } = profile;
  if (condition !== undefined && lastEdge === config.edge) {
    const criterion = `A person confirms: ${condition.replaceAll('_', ' ')}`;
    extraChecks.push({ ...humanCheckFields, name: condition, criterion });
  }
  return extraChecks;
}

function resolveCheck(check: CheckDefinition, methodology: Methodology): EffectiveCheck {
  const { name, type } = check;
  const { constraints } = methodology;
  const texts: Record<string, string> = {};
  let skipped = undecidedDimensionText(name, methodology);
  for (const field of ['criterion', 'command', 'pass_criterion'] as const) {
    const text = check[field];
    if (text === undefined) continue;
    const resolution = resolveVariables(text, constraints);
    texts[field] = resolution.ok ? resolution.text : text;
    if (!resolution.ok) skipped ??= resolution.message;
  }
  const { criterion = '', command, pass_criterion } = texts;
  if (type === 'deterministic' && !command) skipped ??= 'It has no command.';
  const execution = resolveExecutionFields(check, constraints);
  skipped ??= execution.skipped;
  return {
    name,
    type,
    criterion,
    required: isRequired(check.required, constraints),
    ...(command ? { command } : {}),
    ...(pass_criterion ? { pass_criterion } : {}),
    ...execution.fields,
    skipped,
  };
}

type ExecutionFields = Pick<EffectiveCheck, 'shell' | 'timeout_seconds' | 'report'>;

/** The fields that say how the command is run. A check is skipped if the minimum of its report cannot be resolved. */
function resolveExecutionFields(
  { shell, timeout_seconds, report }: CheckDefinition,
  constraints: ProjectConstraints,
): { readonly fields: ExecutionFields; readonly skipped: string | null } {
  const fields: ExecutionFields = {
    ...(shell === undefined ? {} : { shell }),
    ...(timeout_seconds === undefined ? {} : { timeout_seconds }),
    ...(report === undefined ? {} : { report }),
  };
  if (report?.minimum_percent === undefined) return { fields, skipped: null };
  const minimum = resolvePercent(report.minimum_percent, constraints);
  if (typeof minimum !== 'number') return { fields, skipped: minimum.message };
  return { fields: { ...fields, report: { ...report, minimum_percent: minimum } }, skipped: null };
}

const PERCENT = /^(\d+(?:\.\d+)?)\s*(%)?$/;

/** A minimum in percent. A value up to 1 without a percent sign is a fraction, so 0.8 and 80 are the same minimum. */
function resolvePercent(
  minimumField: number | string,
  constraints: ProjectConstraints,
): number | { readonly message: string } {
  const resolution = resolveVariables(String(minimumField), constraints);
  if (!resolution.ok) return resolution;
  const [, digits, sign] = PERCENT.exec(resolution.text) ?? [];
  const value = digits === undefined ? Number.NaN : Number(digits);
  // Rounded, because in floating-point arithmetic 0.29 * 100 is not exactly 29.
  const percent = sign === undefined && value <= 1 ? Number((value * 100).toFixed(6)) : value;
  if (percent <= 100) return percent;
  return { message: `${minimumField} is ${resolution.text}, which is not a number from 0 to 100.` };
}

/** Whether a check is required. It is, if the variable that decides this cannot be resolved. */
function isRequired(required: boolean | string, constraints: ProjectConstraints): boolean {
  if (typeof required === 'boolean') return required;
  const resolution = resolveVariables(required, constraints);
  return !(resolution.ok && resolution.text === 'false');
}

/** A check such as `security_model_resolved` cannot pass while the mandatory dimension `security_model` is undecided. */
function undecidedDimensionText(name: string, methodology: Methodology): string | null {
  const dimension = methodology.topology.constraint_dimensions.find(
    (candidate) => `${candidate.name}_resolved` === name,
  );
  if (dimension === undefined || !dimension.mandatory) return null;
  const decision = ownValue(methodology.constraints.constraint_dimensions, dimension.name);
  return decision ? null : `${dimension.name} is undecided in ${CONSTRAINTS_FILE}.`;
}

/** Merges checks with the same name: the strictest one is kept, and it is required if any of them is. */
function mergeByName(checks: readonly EffectiveCheck[]): EffectiveCheck[] {
  const byName = new Map<string, EffectiveCheck>();
  for (const check of checks) {
    const first = byName.get(check.name);
    const strictest = first === undefined || isStricter(check, first) ? check : first;
    byName.set(check.name, { ...strictest, required: check.required || (first?.required ?? false) });
  }
  return [...byName.values()];
}

/** A human check takes precedence over other checks of the same name; otherwise the first check that can run does. */
function isStricter(check: EffectiveCheck, first: EffectiveCheck): boolean {
  const [isHuman, wasHuman] = [check.type === 'human', first.type === 'human'];
  return isHuman === wasHuman ? first.skipped !== null && check.skipped === null : isHuman;
}
