import { z } from 'zod';
import { ownValue } from '../../../own-value.js';
import type { EdgeConfig, Methodology, ProjectConstraints } from '../methodology.js';
import { parseChecks } from './edge-config.js';
import type { EdgeNameIndex } from './edge-names.js';
import {
  checksSchema,
  checkTypes,
  longText,
  openRecord,
  optionalText,
  orElse,
  section,
  shortText,
  textOrNull,
} from './fields.js';
import type { YamlFile } from './yaml-file.js';

const edgeOverride = z.object({ evaluators: checkTypes.nullish(), additional_checks: checksSchema });
const schema = z.object({
  project: section({ name: optionalText, default_profile: shortText.nullish() }),
  language: z.union([longText, z.object({ primary: longText.nullish() })]).nullish(),
  tools: openRecord,
  thresholds: openRecord,
  standards: openRecord,
  architecture: openRecord,
  constraint_dimensions: openRecord,
  evaluator_overrides: section({ edges: orElse(z.record(z.string(), edgeOverride), {}) }),
});

export interface ParsedConstraints {
  readonly file: YamlFile;
  readonly constraints: ProjectConstraints;
  readonly default_profile: string | null;
  readonly overrides: Readonly<Record<string, z.infer<typeof edgeOverride>>>;
}

/** Parses the project's constraints. Tools and thresholds that the file does not name keep their built-in values. */
export function parseConstraints(
  file: YamlFile,
  builtIn: ProjectConstraints | null,
): ParsedConstraints | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const { language, project } = parsed;
  const dimensions = Object.entries(parsed.constraint_dimensions);
  const constraints: ProjectConstraints = {
    project_name: project.name,
    language: textOrNull(typeof language === 'string' ? language : language?.primary),
    tools: { ...builtIn?.tools, ...parsed.tools },
    thresholds: { ...builtIn?.thresholds, ...parsed.thresholds },
    standards: { ...builtIn?.standards, ...parsed.standards },
    architecture: { ...builtIn?.architecture, ...parsed.architecture },
    constraint_dimensions: Object.fromEntries(
      dimensions.map(([name, value]) => [name, hasDecision(value) ? value : null]),
    ),
  };
  const { edges: overrides } = parsed.evaluator_overrides;
  return { file, constraints, default_profile: project.default_profile ?? null, overrides };
}

/** A dimension is undecided if every part of it is empty or a placeholder. */
function hasDecision(value: unknown): boolean {
  if (typeof value === 'string') return textOrNull(value) !== null;
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasDecision);
  return typeof value === 'number';
}

/** Adds the project's own requirements to those of the edge files. */
export function applyEdgeOverrides(
  edges: Methodology['edges'],
  names: EdgeNameIndex,
  { file, overrides }: ParsedConstraints,
): Record<string, EdgeConfig> {
  const changed = { ...edges };
  for (const [name, { evaluators, additional_checks }] of Object.entries(overrides)) {
    const path = ['evaluator_overrides', 'edges', name];
    const edge = names.resolve(name, file, path);
    const config = edge === null ? undefined : ownValue(changed, edge);
    if (edge === null || config === undefined) continue;
    const extraChecks = parseChecks(additional_checks, [...path, 'additional_checks'], file, 'project');
    const kept = config.checklist.filter(({ type }) => evaluators?.includes(type) ?? true);
    const ignoredCount = config.checklist.length - kept.length;
    if (ignoredCount > 0) {
      const message = `${ignoredCount} checks of ${edge} have other types and are ignored.`;
      file.warn([...path, 'evaluators'], message);
    }
    changed[edge] = { ...config, checklist: [...kept, ...extraChecks] };
  }
  return changed;
}
