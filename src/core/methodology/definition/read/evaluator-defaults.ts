import { z } from 'zod';
import { CHECK_TYPES } from '../../../contract/values.js';
import { isObject } from '../../../events/plain-data.js';
import type { CheckDefinition, Profile } from '../methodology.js';
import { parseEvaluators } from './evaluators.js';
import {
  anyRecord,
  CHECK_FIELDS,
  type CheckDefaults,
  checksSchema,
  checkTypeOf,
  iterationCount,
  longText,
  optionalSection,
  orElse,
  parseCheck,
  requiredField,
  warnAboutExecutionFields,
} from './fields.js';
import { warnUnknownFields } from './unknown-fields.js';
import type { YamlFile } from './yaml-file.js';

/** Defaults for every edge and profile. */
export interface EvaluatorDefaults {
  /** Checks of every edge. A check of the edge with the same name takes precedence. */
  readonly checks: readonly CheckDefinition[];
  readonly check_defaults: CheckDefaults;
  readonly human_required: boolean;
  readonly thresholds: Partial<Pick<Profile, 'max_iterations' | 'stuck_threshold'>>;
}

export const NO_EVALUATOR_DEFAULTS: EvaluatorDefaults = {
  checks: [],
  check_defaults: {},
  human_required: false,
  thresholds: {},
};

const evaluatorType = z.object({ required: requiredField.nullish(), pass_criterion: longText.nullish() });
const convergence = z.object({
  max_iterations: iterationCount.nullish(),
  stuck_threshold: iterationCount.nullish(),
  human_required: z.boolean().nullish(),
});
const schema = z.object({
  evaluator_types: orElse(z.record(z.string(), evaluatorType.nullable()), {}),
  checklist: checksSchema,
  evaluators: z.unknown().optional(),
  convergence: optionalSection(convergence.shape),
  convergence_rules: anyRecord,
});

/** Fields that other Genesis tools write into the file. They only describe, and have no effect. */
const DESCRIPTIVE_FIELDS = [
  'description',
  'version',
  'processing_phases',
  'checklist_schema',
  'check_schema',
];
const TYPE_FIELDS = [
  ...Object.keys(evaluatorType.shape),
  'description',
  'processing_phase',
  'processing_phases',
];

/** The rules, each with its only supported value. Any other value is reported. */
const CONVERGENCE_RULES: Readonly<Record<string, unknown>> = {
  composition: 'all_must_pass',
  ordering: 'as_specified_in_edge_config',
  on_failure: 'report_delta_and_iterate',
  human_always_last: true,
};

/** Parses `evaluator_defaults.yml`. Edge files, profiles and features take precedence over it. */
export function parseEvaluatorDefaults(file: YamlFile): EvaluatorDefaults | null {
  if (file.value === null) return NO_EVALUATOR_DEFAULTS;
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  warnUnknownFields(file, [], [...Object.keys(schema.shape), ...DESCRIPTIVE_FIELDS]);
  warnUnknownFields(file, ['convergence'], Object.keys(convergence.shape));
  warnAboutRules(parsed.convergence_rules, file);
  const check_defaults = checkDefaultsOf(parsed.evaluator_types, file);
  const checks = parsed.checklist.map((check, index) => {
    warnUnknownFields(file, ['checklist', index], CHECK_FIELDS, 'The check is read without this field.');
    warnAboutExecutionFields(check, file, ['checklist', index]);
    return parseCheck(check, check_defaults);
  });
  const names = new Set(checks.map(({ name }) => name));
  const context = { file, edge: 'every_edge', defaults: check_defaults, names };
  const { human_required, ...thresholds } = parsed.convergence;
  return {
    checks: [...checks, ...parseEvaluators(parsed.evaluators, context)],
    check_defaults,
    human_required: human_required ?? false,
    thresholds: Object.fromEntries(Object.entries(thresholds).filter(([, value]) => value != null)),
  };
}

function checkDefaultsOf(types: z.infer<typeof schema>['evaluator_types'], file: YamlFile): CheckDefaults {
  const defaults: Record<string, CheckDefaults[keyof CheckDefaults]> = {};
  for (const [name, fields] of Object.entries(types)) {
    const path = ['evaluator_types', name];
    const type = checkTypeOf(name);
    if (type === undefined) {
      file.warn(
        path,
        `There is no evaluator ${JSON.stringify(name)}; known evaluators: ${CHECK_TYPES.join(', ')}. This name is left out.`,
      );
      continue;
    }
    warnUnknownFields(file, path, TYPE_FIELDS);
    const { required, pass_criterion } = fields ?? {};
    defaults[type] = {
      ...(required == null ? {} : { required }),
      ...(pass_criterion?.trim() ? { pass_criterion } : {}),
    };
  }
  return defaults;
}

function warnAboutRules(rules: Readonly<Record<string, unknown>>, file: YamlFile): void {
  if (!isObject(rules)) return;
  warnUnknownFields(file, ['convergence_rules'], Object.keys(CONVERGENCE_RULES));
  for (const [name, supported] of Object.entries(CONVERGENCE_RULES)) {
    if (!Object.hasOwn(rules, name) || rules[name] === supported) continue;
    const message = `This value is ignored: only ${JSON.stringify(supported)} is supported.`;
    file.warn(['convergence_rules', name], message);
  }
}
