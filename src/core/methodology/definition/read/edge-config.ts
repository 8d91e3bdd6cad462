import { z } from 'zod';
import type { DocumentPath } from '../../../yaml/source-position.js';
import type { CheckDefinition, EdgeConfig, Transition } from '../methodology.js';
import { type EdgeNameIndex, fileStem } from './edge-names.js';
import {
  checksSchema,
  description,
  iterationCount,
  orElse,
  parseCheck,
  section,
  shortText,
} from './fields.js';
import type { YamlFile } from './yaml-file.js';

const schema = z.looseObject({
  edge: shortText.nullish(),
  description,
  checklist: checksSchema,
  convergence: section({
    max_iterations: orElse(iterationCount, null),
    stuck_threshold: orElse(iterationCount, null),
    human_required: orElse(z.boolean(), false),
  }),
});

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

export function parseEdgeFile(file: YamlFile, names: EdgeNameIndex): ParsedEdgeFile | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const { edge: name, description, checklist, convergence, ...extra } = parsed;
  const stem = fileStem(file.name);
  const edge = names.find(name ?? stem);
  if (name && edge === null && !file.isBuiltIn) {
    file.warn(['edge'], `The topology has no edge ${JSON.stringify(name)}: the file is ignored.`);
    return null;
  }
  const isTooLong = JSON.stringify(extra).length > EXTRA_LENGTH_MAX;
  if (isTooLong) file.warn([], `Guidance of more than ${EXTRA_LENGTH_MAX} characters is ignored.`);
  const checks = parseChecks(checklist, ['checklist'], file);
  return {
    file,
    stem,
    edge,
    config: { description, checklist: checks, ...convergence, extra: isTooLong ? {} : extra },
  };
}

/** Check names must be unique: reports are matched by name. */
export function parseChecks(
  parsed: z.infer<typeof checksSchema>,
  path: DocumentPath,
  file: YamlFile,
  source?: string,
): CheckDefinition[] {
  const names = new Set<string>();
  for (const [at, { name }] of parsed.entries()) {
    if (names.has(name))
      file.fault([...path, at, 'name'], `There are two checks called ${JSON.stringify(name)}; rename one.`);
    names.add(name);
  }
  return parsed.map((check) => parseCheck(check, source));
}

/** Config of an edge without a file: one check per evaluator type that its transition names. */
export function defaultEdgeConfig({ edge, name, evaluators }: Transition): EdgeConfig {
  const types = evaluators.length > 0 ? evaluators : (['agent', 'human'] as const);
  const checklist = types.map((type): CheckDefinition => {
    const criterion = `The result of ${name} is as it should be`;
    const command = type === 'deterministic' ? { command: `$tools.${edge}.command $tools.${edge}.args` } : {};
    return { name: `${edge}_${type}`, type, criterion, required: true, source: 'default', ...command };
  });
  const defaults = { max_iterations: null, stuck_threshold: null, human_required: false, extra: {} };
  return { edge, description: '', checklist, ...defaults };
}
