import { z } from 'zod';
import { ownValue } from '../../../own-value.js';
import type { EdgeConfig, Methodology, ProjectConstraints } from '../methodology.js';
import { parseChecks } from './edge-config.js';
import type { EdgeNameIndex } from './edge-names.js';
import { checksSchema, checkTypes, longText, openRecord, shortText, textOrNull } from './fields.js';
import { EdgeListResolver } from './profile.js';
import type { YamlFile } from './yaml-file.js';

const schema = z.object({
  project: z.object({ name: longText.nullish(), default_profile: shortText.nullish() }).nullish(),
  language: z.union([longText, z.object({ primary: longText.nullish() })]).nullish(),
  tools: openRecord.nullish(),
  thresholds: openRecord.nullish(),
  standards: openRecord.nullish(),
  architecture: openRecord.nullish(),
  constraint_dimensions: openRecord.nullish(),
  evaluator_overrides: z
    .object({
      edges: z
        .record(
          z.string(),
          z.object({ evaluators: checkTypes.nullish(), additional_checks: checksSchema.nullish() }),
        )
        .nullish(),
    })
    .nullish(),
});
type ParsedConstraintsFile = z.infer<typeof schema>;

export interface ParsedConstraints {
  readonly file: YamlFile;
  readonly constraints: ProjectConstraints;
  readonly default_profile: string | null;
  /** Adds the project's own requirements to those of the edge files. */
  readonly applyOverrides: (edges: Methodology['edges'], names: EdgeNameIndex) => Record<string, EdgeConfig>;
}

/** Parses the project's constraints. Tools and thresholds that the file does not name keep their built-in values. */
export function parseConstraints(
  file: YamlFile,
  builtIn: ProjectConstraints | null,
): ParsedConstraints | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const { language, project } = parsed;
  const constraints: ProjectConstraints = {
    project_name: textOrNull(project?.name),
    language: textOrNull(typeof language === 'string' ? language : language?.primary),
    tools: { ...builtIn?.tools, ...parsed.tools },
    thresholds: { ...builtIn?.thresholds, ...parsed.thresholds },
    standards: { ...builtIn?.standards, ...parsed.standards },
    architecture: { ...builtIn?.architecture, ...parsed.architecture },
    constraint_dimensions: decidedDimensions(parsed.constraint_dimensions ?? {}),
  };
  const applyOverrides: ParsedConstraints['applyOverrides'] = (edges, names) =>
    applyEdgeOverrides(edges, names, parsed, file);
  return { file, constraints, default_profile: project?.default_profile ?? null, applyOverrides };
}

/** A dimension is undecided if every part of it is empty or a placeholder. */
function decidedDimensions(parsed: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [name, hasDecision(value) ? value : null]),
  );
}

function hasDecision(value: unknown): boolean {
  if (typeof value === 'string') return textOrNull(value) !== null;
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasDecision);
  return typeof value === 'number';
}

function applyEdgeOverrides(
  edges: Methodology['edges'],
  names: EdgeNameIndex,
  parsed: ParsedConstraintsFile,
  file: YamlFile,
): Record<string, EdgeConfig> {
  const changed = { ...edges };
  const path = ['evaluator_overrides', 'edges'];
  for (const [name, override] of Object.entries(parsed.evaluator_overrides?.edges ?? {})) {
    const edge = new EdgeListResolver(file, names).resolve(name, [...path, name]);
    const config = edge === null ? undefined : ownValue(changed, edge);
    if (edge === null || config === undefined) continue;
    const extraChecks = parseChecks(
      override.additional_checks ?? [],
      [...path, name, 'additional_checks'],
      file,
      'project',
    );
    const { evaluators } = override;
    const kept = config.checklist.filter(({ type }) => evaluators?.includes(type) ?? true);
    if (kept.length < config.checklist.length) {
      const leftOut = config.checklist.length - kept.length;
      file.warn(
        [...path, name, 'evaluators'],
        `${leftOut} checks of ${edge} are of other types and are left out.`,
      );
    }
    changed[edge] = { ...config, checklist: [...kept, ...extraChecks] };
  }
  return changed;
}
