import { z } from 'zod';
import type { Path } from '../../yaml/place.js';
import type { Check, EdgeConfig, Transition } from '../methodology.js';
import { type EdgeNames, stemOf } from './edge-names.js';
import { budget, checkOf, checksSchema, flag, label, words } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const schema = z.looseObject({
  edge: label.nullish(),
  description: words.nullish(),
  checklist: checksSchema.nullish(),
  convergence: z
    .object({
      max_iterations: budget.nullish(),
      stuck_threshold: budget.nullish(),
      human_required: flag.nullish(),
    })
    .nullish(),
});

/** What else a file says (guidance, templates) is kept up to here, in characters of JSON. */
const EXTRA_LENGTH_MAX = 32 * 1024;

/** A file about edges, before it is known which of them it serves. */
export interface EdgeFile {
  readonly file: YamlFile;
  readonly stem: string;
  /** Null: it is about no edge of its own. */
  readonly edge: string | null;
  readonly config: Omit<EdgeConfig, 'edge'>;
}

export function readEdgeFile(file: YamlFile, names: EdgeNames): EdgeFile | null {
  const said = file.fits(schema);
  if (said === null) return null;
  const { edge: name, description, checklist, convergence, ...rest } = said;
  const stem = stemOf(file.name);
  const edge = name ? names.find(name) : names.find(stem);
  if (name && edge === null && !file.is_built_in) {
    file.warn(['edge'], `The topology has no edge ${JSON.stringify(name)}: the file is left out.`);
    return null;
  }
  const config = {
    description: description?.trim() ?? '',
    checklist: checksOf(checklist ?? [], ['checklist'], file),
    max_iterations: convergence?.max_iterations ?? null,
    stuck_threshold: convergence?.stuck_threshold ?? null,
    human_required: convergence?.human_required ?? false,
    extra: bounded(rest, file),
  };
  return { file, stem, edge, config };
}

/** A name stands for one check: reports are matched by it. */
export function checksOf(
  said: z.infer<typeof checksSchema>,
  path: Path,
  file: YamlFile,
  source?: string,
): Check[] {
  const names = new Set<string>();
  for (const [at, { name }] of said.entries()) {
    if (names.has(name))
      file.fault([...path, at, 'name'], `There are two checks called ${JSON.stringify(name)}.`);
    names.add(name);
  }
  return said.map((check) => checkOf(check, source));
}

function bounded(extra: Record<string, unknown>, file: YamlFile): Record<string, unknown> {
  if (JSON.stringify(extra).length <= EXTRA_LENGTH_MAX) return extra;
  file.warn([], `Guidance of more than ${EXTRA_LENGTH_MAX} characters is left out.`);
  return {};
}

/** Where nobody says what an edge asks: one check for each kind of evaluator that its transition names. */
export function bareConfig({ edge, name, evaluators }: Transition): EdgeConfig {
  const types = evaluators.length > 0 ? evaluators : (['agent', 'human'] as const);
  const checklist = types.map((type): Check => {
    const criterion = `The result of ${name} is as it should be`;
    const command = type === 'deterministic' ? { command: `$tools.${edge}.command $tools.${edge}.args` } : {};
    return { name: `${edge}_${type}`, type, criterion, required: true, source: 'default', ...command };
  });
  const none = { max_iterations: null, stuck_threshold: null, human_required: false, extra: {} };
  return { edge, description: '', checklist, ...none };
}
