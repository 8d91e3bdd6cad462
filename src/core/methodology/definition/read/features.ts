import { ownValue } from '../../../own-value.js';
import type { DocumentPath } from '../../../yaml/source-position.js';
import type { FeatureVector, Profile } from '../methodology.js';
import { defaultProfileFor } from '../profile.js';
import { parseFeature } from './feature.js';
import type { YamlFile } from './yaml-file.js';

interface LoadedFeature {
  readonly vector: FeatureVector;
  readonly file: YamlFile;
}

/** Parses all vectors of a workspace and checks them against each other. */
export function parseFeatures(
  files: readonly YamlFile[],
  profiles: Readonly<Record<string, Profile>>,
  defaultProfile: string,
): FeatureVector[] {
  const loaded = new Map<string, LoadedFeature>();
  for (const file of files) {
    const parsed = parseFeature(file);
    if (parsed === null) continue;
    const vector = withProfile(parsed, file, profiles, defaultProfile);
    const first = loaded.get(vector.feature_id);
    if (first === undefined) loaded.set(vector.feature_id, { vector, file });
    else file.fault(['feature'], `${vector.feature_id} is also the feature of ${first.file.name}.`);
  }
  checkDependencies(loaded);
  return [...loaded.values()].map(({ vector }) => vector);
}

function withProfile(
  parsed: FeatureVector,
  file: YamlFile,
  profiles: Readonly<Record<string, Profile>>,
  defaultProfile: string,
): FeatureVector {
  const name = parsed.profile || defaultProfileFor(parsed.vector_type, profiles, defaultProfile);
  const profile = ownValue(profiles, name);
  if (profile === undefined) {
    const known = Object.keys(profiles).join(', ');
    file.fault(['profile'], `There is no profile ${JSON.stringify(name)}; there are ${known}.`);
  } else if (profile.vector_types !== 'any' && !profile.vector_types.includes(parsed.vector_type)) {
    file.warn(['profile'], `The profile ${name} is not meant for a vector of type ${parsed.vector_type}.`);
  }
  return { ...parsed, profile: name };
}

function checkDependencies(loaded: ReadonlyMap<string, LoadedFeature>): void {
  for (const { vector, file } of loaded.values()) {
    for (const { feature } of vector.dependencies) {
      if (!loaded.has(feature))
        file.warn(dependenciesPath(file), `${feature}, which it depends on, has no file here.`);
    }
  }
  const cycle = findCycle(loaded);
  if (cycle === null) return;
  const file = loaded.get(cycle[0] as string)?.file;
  file?.fault(dependenciesPath(file), `Features wait for each other in a circle: ${cycle.join(' → ')}.`);
}

const dependenciesPath = ({ value }: YamlFile): DocumentPath => [
  Object.hasOwn(value as object, 'dependencies') ? 'dependencies' : 'depends_on',
];

/** Finds one dependency cycle, with its first feature repeated at the end. Iterative: chains may be long. */
function findCycle(loaded: ReadonlyMap<string, LoadedFeature>): string[] | null {
  const done = new Set<string>();
  for (const start of loaded.keys()) {
    /** In order of entry. */
    const visiting = new Set<string>();
    const open = [{ id: start, leaving: false }];
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      const { id, leaving } = step;
      if (leaving) {
        visiting.delete(id);
        done.add(id);
      } else if (visiting.has(id)) {
        const steps = [...visiting];
        return [...steps.slice(steps.indexOf(id)), id];
      } else if (loaded.has(id) && !done.has(id)) {
        visiting.add(id);
        open.push({ id, leaving: true });
        for (const { feature } of loaded.get(id)?.vector.dependencies ?? []) {
          open.push({ id: feature, leaving: false });
        }
      }
    }
  }
  return null;
}
