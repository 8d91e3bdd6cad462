import { z } from 'zod';
import { isObject } from '../../../events/plain-data.js';
import { ownValue } from '../../../own-value.js';
import type { EdgeConfig, Methodology, ProjectConstraints } from '../methodology.js';
import { parseChecks } from './edge-config.js';
import type { EdgeNameIndex } from './edge-names.js';
import {
  anyRecord,
  checksSchema,
  checkTypes,
  longText,
  optionalSection,
  optionalText,
  orElse,
  shortText,
  textOrNull,
} from './fields.js';
import type { YamlFile } from './yaml-file.js';

const edgeOverride = z.object({ evaluators: checkTypes.nullish(), additional_checks: checksSchema });
const schema = z.object({
  project: optionalSection({
    name: optionalText,
    default_profile: shortText.nullish(),
    language: longText.nullish(),
  }),
  language: z.union([longText, z.object({ primary: longText.nullish() })]).nullish(),
  tools: anyRecord,
  thresholds: anyRecord,
  standards: anyRecord,
  architecture: anyRecord,
  constraint_dimensions: anyRecord,
  evaluator_overrides: optionalSection({ edges: orElse(z.record(z.string(), edgeOverride), {}) }),
});

export interface ParsedConstraints {
  readonly file: YamlFile;
  readonly constraints: ProjectConstraints;
  readonly default_profile: string | null;
  readonly overrides: Readonly<Record<string, z.infer<typeof edgeOverride>>>;
}

type RawFields = Readonly<Record<string, unknown>>;

/** Keys of the file that are read. */
const READ_KEYS: ReadonlySet<string> = new Set([...Object.keys(schema.shape), 'constraints', 'dimensions']);

/**
 * The content of a file in the spelling that `schema` parses. Installers of other Genesis tools write the dimensions under
 * `constraints:` (with tools, or without), under `dimensions:`, as keys of the file itself, or as a list.
 */
function canonicalConstraints(file: YamlFile, dimensionNames: readonly string[]): unknown {
  const raw = file.value;
  if (!isObject(raw)) return raw;
  const nested = dimensionRecord(raw, 'constraints', file);
  const fromConstraints = Object.entries(nested).filter(([name]) => !Object.hasOwn(schema.shape, name));
  const isDimension = (name: string): boolean => dimensionNames.includes(name);
  const constraint_dimensions = mergeDecided([
    dimensionRecord(raw, 'constraint_dimensions', file),
    dimensionRecord(raw, 'dimensions', file),
    Object.fromEntries(fromConstraints),
    Object.fromEntries(Object.entries(raw).filter(([name]) => isDimension(name))),
  ]);
  const unused = Object.keys(raw).filter((name) => !READ_KEYS.has(name) && !isDimension(name));
  if (unused.length > 0) file.warn([], `These keys of the file are not used: ${unused.join(', ')}.`);
  const settings = Object.entries(nested).filter(([name]) => Object.hasOwn(schema.shape, name));
  return { ...Object.fromEntries(settings), ...withoutNull(raw), constraint_dimensions };
}

const withoutNull = (fields: RawFields): RawFields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** Dimensions by name, from a record or from a list of entries with a name. Other values are reported. */
function dimensionRecord(raw: RawFields, key: string, file: YamlFile): RawFields {
  const value = raw[key] ?? {};
  if (isObject(value)) return value;
  if (!Array.isArray(value)) {
    file.fault([key], 'expected the dimensions by name, or a list of them');
    return {};
  }
  const entries = value.map((entry: unknown, index) => {
    const dimension = dimensionEntry(entry);
    if (dimension === null) {
      file.warn([key, index], `The entry is not used: expected a dimension with a "name" and its values.`);
    }
    return dimension;
  });
  return Object.fromEntries(entries.filter((entry) => entry !== null));
}

const NAME_KEYS = ['name', 'dimension', 'id', 'key'] as const;
const VALUE_KEYS = ['value', 'decision', 'resolution'] as const;

/**
 * The name and value of a dimension in a list: `{ name: build_system, tool: npm }`, `{ dimension: build_system, value: npm }`
 * or `{ build_system: npm }`; null for another form.
 */
function dimensionEntry(entry: unknown): [string, unknown] | null {
  if (!isObject(entry)) return null;
  const nameKey = NAME_KEYS.find((key) => typeof entry[key] === 'string');
  const keys = Object.keys(entry);
  if (nameKey === undefined) {
    const [onlyKey = ''] = keys;
    return keys.length === 1 ? [onlyKey, entry[onlyKey]] : null;
  }
  const { [nameKey]: name, ...values } = entry;
  const valueKey = VALUE_KEYS.find((key) => Object.hasOwn(values, key));
  return [String(name), valueKey === undefined ? values : values[valueKey]];
}

/** If several sources have a dimension, the first source with a decision counts. */
function mergeDecided(sources: readonly RawFields[]): RawFields {
  const merged = new Map<string, unknown>();
  for (const [name, value] of sources.flatMap((source) => Object.entries(source))) {
    if (!hasDecision(merged.get(name))) merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/**
 * Parses the project's constraints. Tools, thresholds, standards and entries of `architecture` that the file does not name
 * keep their built-in values.
 */
export function parseConstraints(
  file: YamlFile,
  builtIn: ProjectConstraints | null,
  dimensionNames: readonly string[],
): ParsedConstraints | null {
  const parsed = file.parse(schema, canonicalConstraints(file, dimensionNames));
  if (parsed === null) return null;
  const { language, project } = parsed;
  const dimensions = Object.entries(parsed.constraint_dimensions);
  const constraints: ProjectConstraints = {
    project_name: project.name,
    language: textOrNull(typeof language === 'string' ? language : (language?.primary ?? project.language)),
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

/** Whether a dimension is decided: some part of it is a number, or a text that is neither empty nor a placeholder. */
function hasDecision(value: unknown): boolean {
  if (typeof value === 'string') return textOrNull(value) !== null;
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasDecision);
  return typeof value === 'number';
}

/** The edges with `evaluator_overrides` applied: additional checks, and without checks of types that are not listed. */
export function applyEdgeOverrides(
  edges: Methodology['edges'],
  names: EdgeNameIndex,
  { file, overrides }: ParsedConstraints,
): Record<string, EdgeConfig> {
  const changedEdges = { ...edges };
  for (const [name, { evaluators, additional_checks }] of Object.entries(overrides)) {
    const path = ['evaluator_overrides', 'edges', name];
    const edge = names.resolveOrWarn(name, file, path);
    const config = edge === null ? undefined : ownValue(changedEdges, edge);
    if (edge === null || config === undefined) continue;
    const extraChecks = parseChecks(additional_checks, [...path, 'additional_checks'], file, {
      source: 'project',
    });
    const keptChecks = config.checklist.filter(({ type }) => evaluators?.includes(type) ?? true);
    const ignoredChecks = config.checklist.filter((check) => !keptChecks.includes(check));
    if (ignoredChecks.length > 0) {
      const ignoredNames = ignoredChecks.map(({ name, type }) => `${name} (${type})`).join(', ');
      const message = `Checks of ${edge} whose type is not listed here are ignored: ${ignoredNames}.`;
      file.warn([...path, 'evaluators'], message);
    }
    changedEdges[edge] = { ...config, checklist: [...keptChecks, ...extraChecks] };
  }
  return changedEdges;
}
