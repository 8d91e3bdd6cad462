import type { Path } from '../../yaml/place.js';
import type { FeatureVector, Profile } from '../methodology.js';
import { usualProfile } from '../profile.js';
import { readFeature } from './feature.js';
import type { YamlFile } from './yaml-file.js';

interface Found {
  readonly vector: FeatureVector;
  readonly file: YamlFile;
}

/** All vectors of a workspace, and what is wrong between them. */
export function readFeatures(
  files: readonly YamlFile[],
  profiles: Readonly<Record<string, Profile>>,
  default_profile: string,
): FeatureVector[] {
  const found = new Map<string, Found>();
  for (const file of files) {
    const said = readFeature(file);
    if (said === null) continue;
    const vector = profiled(said, file, profiles, default_profile);
    const first = found.get(vector.feature_id);
    if (first === undefined) found.set(vector.feature_id, { vector, file });
    else file.fault(['feature'], `${vector.feature_id} is also the feature of ${first.file.name}.`);
  }
  checkDependencies(found);
  return [...found.values()].map(({ vector }) => vector);
}

function profiled(
  said: FeatureVector,
  file: YamlFile,
  profiles: Readonly<Record<string, Profile>>,
  default_profile: string,
): FeatureVector {
  const name = said.profile || usualProfile(said.vector_type, profiles, default_profile);
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined) {
    const known = Object.keys(profiles).join(', ');
    file.fault(['profile'], `There is no profile ${JSON.stringify(name)}; there are ${known}.`);
  } else if (profile.vector_types !== 'any' && !profile.vector_types.includes(said.vector_type)) {
    file.warn(['profile'], `The profile ${name} is not meant for a vector of type ${said.vector_type}.`);
  }
  return { ...said, profile: name };
}

function checkDependencies(found: ReadonlyMap<string, Found>): void {
  for (const { vector, file } of found.values()) {
    for (const { feature } of vector.dependencies) {
      if (!found.has(feature))
        file.warn(dependenciesIn(file), `${feature}, which it depends on, has no file here.`);
    }
  }
  const circle = findCircle(found);
  if (circle === null) return;
  const file = found.get(circle[0] as string)?.file;
  file?.fault(dependenciesIn(file), `Features wait for each other in a circle: ${circle.join(' → ')}.`);
}

const dependenciesIn = ({ value }: YamlFile): Path => [
  Object.hasOwn(value as object, 'dependencies') ? 'dependencies' : 'depends_on',
];

/** One circle of dependencies, its first feature named again at its end. Walks without recursion: chains may be long. */
function findCircle(found: ReadonlyMap<string, Found>): string[] | null {
  const done = new Set<string>();
  for (const start of found.keys()) {
    /** In the order in which they were entered. */
    const way = new Set<string>();
    const open = [{ id: start, leaving: false }];
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      const { id, leaving } = step;
      if (leaving) {
        way.delete(id);
        done.add(id);
      } else if (way.has(id)) {
        const steps = [...way];
        return [...steps.slice(steps.indexOf(id)), id];
      } else if (found.has(id) && !done.has(id)) {
        way.add(id);
        open.push({ id, leaving: true });
        for (const { feature } of found.get(id)?.vector.dependencies ?? []) {
          open.push({ id: feature, leaving: false });
        }
      }
    }
  }
  return null;
}
