import { z } from 'zod';
import type { Constraints, EdgeConfig, Methodology } from '../methodology.js';
import { checksOf } from './edge-config.js';
import type { EdgeNames } from './edge-names.js';
import { checksSchema, checkTypes, filled, label, openRecord, words } from './fields.js';
import { ListedEdges } from './profile.js';
import type { YamlFile } from './yaml-file.js';

const schema = z.object({
  project: z.object({ name: words.nullish(), default_profile: label.nullish() }).nullish(),
  language: z.union([words, z.object({ primary: words.nullish() })]).nullish(),
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
type Said = z.infer<typeof schema>;

export interface ConstraintsReading {
  readonly file: YamlFile;
  readonly constraints: Constraints;
  readonly default_profile: string | null;
  /** What the project asks of edges besides what their files do. */
  readonly amend: (edges: Methodology['edges'], names: EdgeNames) => Record<string, EdgeConfig>;
}

/** Tools and thresholds that the file does not name stay as they are built in. */
export function readConstraints(file: YamlFile, builtIn: Constraints | null): ConstraintsReading | null {
  const said = file.fits(schema);
  if (said === null) return null;
  const { language, project } = said;
  const constraints: Constraints = {
    project_name: filled(project?.name),
    language: filled(typeof language === 'string' ? language : language?.primary),
    tools: { ...builtIn?.tools, ...said.tools },
    thresholds: { ...builtIn?.thresholds, ...said.thresholds },
    standards: { ...builtIn?.standards, ...said.standards },
    architecture: { ...builtIn?.architecture, ...said.architecture },
    constraint_dimensions: dimensionsOf(said.constraint_dimensions ?? {}),
  };
  const amend: ConstraintsReading['amend'] = (edges, names) => amended(edges, names, said, file);
  return { file, constraints, default_profile: project?.default_profile ?? null, amend };
}

/** A dimension of which every part is empty, or still waits to be filled in, is undecided. */
function dimensionsOf(said: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(said).map(([name, value]) => [name, isDecided(value) ? value : null]),
  );
}

function isDecided(value: unknown): boolean {
  if (typeof value === 'string') return filled(value) !== null;
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isDecided);
  return typeof value === 'number';
}

function amended(
  edges: Methodology['edges'],
  names: EdgeNames,
  said: Said,
  file: YamlFile,
): Record<string, EdgeConfig> {
  const changed = { ...edges };
  const path = ['evaluator_overrides', 'edges'];
  for (const [name, change] of Object.entries(said.evaluator_overrides?.edges ?? {})) {
    const edge = new ListedEdges(file, names).one(name, [...path, name]);
    const config = edge === null ? undefined : changed[edge];
    if (edge === null || config === undefined) continue;
    const more = checksOf(
      change.additional_checks ?? [],
      [...path, name, 'additional_checks'],
      file,
      'project',
    );
    const { evaluators } = change;
    const kept = config.checklist.filter(({ type }) => evaluators?.includes(type) ?? true);
    if (kept.length < config.checklist.length) {
      const left_out = config.checklist.length - kept.length;
      file.warn(
        [...path, name, 'evaluators'],
        `${left_out} checks of ${edge} are of other types and are left out.`,
      );
    }
    changed[edge] = { ...config, checklist: [...kept, ...more] };
  }
  return changed;
}
