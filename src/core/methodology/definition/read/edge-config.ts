import { z } from 'zod';
import { isObject } from '../../../events/plain-data.js';
import type { DocumentPath } from '../../../yaml/source-position.js';
import { edgeEngineFields } from '../engine-settings.js';
import type { CheckDefinition, EdgeConfig, Transition } from '../methodology.js';
import { type EdgeNameIndex, fileStem } from './edge-names.js';
import type { EvaluatorDefaults } from './evaluator-defaults.js';
import { parseEvaluators } from './evaluators.js';
import {
  CHECK_FIELDS,
  type CheckDefaults,
  checksSchema,
  description,
  iterationCount,
  optionalSection,
  orElse,
  parseCheck,
  shortText,
  warnAboutExecutionFields,
  withoutEmptyFields,
} from './fields.js';
import { warnUnknownFields } from './unknown-fields.js';
import type { YamlFile } from './yaml-file.js';

/**
 * Name, without extension, of the file with the commands of all checks whose source is `traceability`. The file belongs to
 * no edge.
 */
export const TRACEABILITY_STEM = 'traceability';

const convergenceFields = {
  rule: shortText.nullish(),
  max_iterations: orElse(iterationCount, null),
  stuck_threshold: orElse(iterationCount, null),
  human_required: z.boolean().nullish(),
};
const schema = z.looseObject({
  edge: shortText.nullish(),
  edge_type: shortText.nullish(),
  source: shortText.nullish(),
  target: shortText.nullish(),
  description,
  checklist: checksSchema,
  convergence: optionalSection(convergenceFields),
  evaluators: z.unknown().optional(),
  construct: edgeEngineFields.construct.nullish(),
  evaluate: edgeEngineFields.evaluate.nullish(),
  budget: edgeEngineFields.budget.nullish(),
});
/** The only convergence rule that an edge can have. */
const CONVERGENCE_RULE = 'all_required_checks_pass';
/** Fields with guidance in the edge files of other Genesis tools. They are kept with the edge, but contain no checks. */
const GUIDANCE_FIELDS = [
  'agent_guidance',
  'context_guidance',
  'source_analysis',
  'pattern',
  'phases',
  'cycle',
  'outputs',
  'document_structure',
  'key_format',
  'requirement_template',
  'template',
  'triggers',
  'scenario_format',
  'language_constraint',
  'sources',
  'intent_raised_schema',
];
const EDGE_FIELDS = [...Object.keys(schema.shape), ...GUIDANCE_FIELDS];

/** Maximum length of other file content that is kept (guidance, templates), in characters of JSON. */
const EXTRA_LENGTH_MAX = 32 * 1024;

/** A parsed edge file, before it is assigned to edges. */
export interface ParsedEdgeFile {
  readonly file: YamlFile;
  readonly stem: string;
  /** Null if the file belongs to no specific edge. */
  readonly edge: string | null;
  readonly config: Omit<EdgeConfig, 'edge'>;
}

export function parseEdgeFile(
  file: YamlFile,
  names: EdgeNameIndex,
  defaults: EvaluatorDefaults,
): ParsedEdgeFile | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const stem = fileStem(file.name);
  const edge = edgeOf(parsed, stem, names, file);
  if (parsed.edge && edge === null && !file.isBuiltIn) {
    file.warn(['edge'], `The topology has no edge ${JSON.stringify(parsed.edge)}: the file is ignored.`);
    return null;
  }
  warnAboutFields(file, stem);
  return { file, stem, edge, config: configOf(parsed, edge ?? stem, file, defaults) };
}

type ParsedEdgeFields = z.infer<typeof schema>;

function configOf(
  parsed: ParsedEdgeFields,
  edge: string,
  file: YamlFile,
  { check_defaults, ...defaults }: EvaluatorDefaults,
): ParsedEdgeFile['config'] {
  const { edge: _, edge_type: __, source: ___, target: ____, description, checklist, ...settings } = parsed;
  const { evaluators, convergence, construct, evaluate, budget, ...extra } = settings;
  const { rule, max_iterations, stuck_threshold, human_required } = convergence;
  if (rule && rule !== CONVERGENCE_RULE) {
    file.warn(['convergence', 'rule'], `The rule is ignored: edges only support ${CONVERGENCE_RULE}.`);
  }
  const isTooLong = JSON.stringify(extra).length > EXTRA_LENGTH_MAX;
  if (isTooLong) file.warn([], `The guidance is ignored: it has more than ${EXTRA_LENGTH_MAX} characters.`);
  const checks = parseChecks(checklist, ['checklist'], file, { defaults: check_defaults });
  const names = new Set(checks.map(({ name }) => name));
  return {
    description,
    checklist: [...checks, ...parseEvaluators(evaluators, { file, edge, defaults: check_defaults, names })],
    max_iterations,
    stuck_threshold,
    human_required: human_required ?? defaults.human_required,
    ...withoutEmptyFields({ construct, evaluate, budget }),
    extra: isTooLong ? {} : extra,
  };
}

/**
 * The edge that the field `edge` of a file names; if the file has no such field, the one that `edge_type` names, otherwise
 * source and target, otherwise the file name. Null if the topology has no such edge.
 */
function edgeOf(
  { edge, edge_type, source, target }: ParsedEdgeFields,
  stem: string,
  names: EdgeNameIndex,
  file: YamlFile,
): string | null {
  if (edge) return names.find(edge);
  const edgeOfEnds = source && target ? names.find(`${source}_${target}`) : null;
  const edgeOfType = edge_type ? names.find(edge_type) : null;
  if (edgeOfType !== null && edgeOfEnds !== null && edgeOfType !== edgeOfEnds) {
    const message = `edge_type is the edge ${edgeOfType}, but source and target name ${edgeOfEnds}: edge_type is used.`;
    file.warn(['edge_type'], message);
  }
  return edgeOfType ?? edgeOfEnds ?? names.find(stem);
}

function warnAboutFields(file: YamlFile, stem: string): void {
  const layers = isObject(file.value)
    ? Object.keys(file.value).filter((name) => name.startsWith('layer_'))
    : [];
  const knownFields = stem === TRACEABILITY_STEM ? [...EDGE_FIELDS, ...layers] : EDGE_FIELDS;
  warnUnknownFields(file, [], knownFields, 'The field is kept with the edge, but no check is read from it.');
  warnUnknownFields(file, ['convergence'], Object.keys(convergenceFields));
}

/** Parses checks. Their names must be unique, because reports are matched by name. */
export function parseChecks(
  parsed: z.infer<typeof checksSchema>,
  path: DocumentPath,
  file: YamlFile,
  { source, defaults }: { readonly source?: string; readonly defaults?: CheckDefaults },
): CheckDefinition[] {
  const names = new Set<string>();
  for (const [index, check] of parsed.entries()) {
    const { name } = check;
    warnUnknownFields(file, [...path, index], CHECK_FIELDS, 'The check is read without this field.');
    warnAboutExecutionFields(check, file, [...path, index]);
    if (names.has(name))
      file.fault(
        [...path, index, 'name'],
        `There are two checks called ${JSON.stringify(name)}; rename one.`,
      );
    names.add(name);
  }
  return parsed.map((check) => parseCheck(check, defaults, source));
}

/** Config of an edge without a file: one check per evaluator type that its transition names, or an agent and a human check. */
export function defaultEdgeConfig(
  { edge, name, evaluators }: Transition,
  defaults: EvaluatorDefaults,
): EdgeConfig {
  const types = evaluators.length > 0 ? evaluators : (['agent', 'human'] as const);
  const checklist = types.map((type): CheckDefinition => {
    const criterion = `The result of ${name} is as it should be`;
    const command = type === 'deterministic' ? { command: `$tools.${edge}.command $tools.${edge}.args` } : {};
    return { name: `${edge}_${type}`, type, criterion, required: true, source: 'default', ...command };
  });
  return {
    edge,
    description: '',
    checklist,
    max_iterations: null,
    stuck_threshold: null,
    human_required: defaults.human_required,
    extra: {},
  };
}
