import { ownValue } from '../../../own-value.js';
import type { DocumentPath } from '../../../yaml/source-position.js';
import { featureCycles } from '../cycles.js';
import type { Feature, Profile } from '../methodology.js';
import { defaultProfileFor } from '../profile.js';
import { parseFeature } from './feature.js';
import type { YamlFile } from './yaml-file.js';

interface LoadedFeature {
  readonly feature: Feature;
  readonly file: YamlFile;
}

/** The folder in which older tools keep features. A file in `features/` takes precedence. */
const OLDER_FOLDER = /^vectors\//;

/** Parses all features of a workspace and checks them against each other. */
export function parseFeatures(
  files: readonly YamlFile[],
  profiles: Readonly<Record<string, Profile>>,
  defaultProfile: string,
): LoadedFeature[] {
  const featuresById = new Map<string, LoadedFeature>();
  for (const file of files) {
    const parsed = parseFeature(file);
    if (parsed === null) continue;
    const feature = withProfile(parsed, file, profiles, defaultProfile);
    const first = featuresById.get(feature.feature_id);
    if (first === undefined) featuresById.set(feature.feature_id, { feature, file });
    else if (OLDER_FOLDER.test(file.name))
      file.warn([], `${feature.feature_id} is defined in ${first.file.name}; this file is ignored.`);
    else
      file.fault(
        ['feature'],
        `${feature.feature_id} is already defined in ${first.file.name}. Remove one of the two files, or change its id.`,
      );
  }
  checkDependencies(featuresById);
  return [...featuresById.values()];
}

function withProfile(
  parsed: Feature,
  file: YamlFile,
  profiles: Readonly<Record<string, Profile>>,
  defaultProfile: string,
): Feature {
  const name = parsed.profile || defaultProfileFor(parsed.vector_type, profiles, defaultProfile);
  const profile = ownValue(profiles, name);
  if (profile === undefined) {
    const profileNames = Object.keys(profiles).join(', ');
    file.fault(['profile'], `Unknown profile ${JSON.stringify(name)}; known profiles: ${profileNames}.`);
  } else if (profile.vector_types !== 'any' && !profile.vector_types.includes(parsed.vector_type)) {
    file.warn(['profile'], `The profile ${name} is not intended for features of type ${parsed.vector_type}.`);
  }
  return { ...parsed, profile: name };
}

function checkDependencies(featuresById: ReadonlyMap<string, LoadedFeature>): void {
  for (const { feature, file } of featuresById.values()) {
    for (const { feature: id } of feature.dependencies) {
      if (!featuresById.has(id))
        file.warn(dependenciesPath(file), `The feature depends on ${id}, which has no file.`);
    }
  }
  const features = [...featuresById.values()].map(({ feature }) => feature);
  const [cycle] = featureCycles(features, 1);
  if (cycle === undefined) return;
  const file = featuresById.get(cycle[0] as string)?.file;
  file?.fault(
    dependenciesPath(file),
    `Features depend on each other in a cycle: ${cycle.join(' → ')}. Remove one of these dependencies.`,
  );
}

const dependenciesPath = ({ value }: YamlFile): DocumentPath => [
  Object.hasOwn(value as object, 'dependencies') ? 'dependencies' : 'depends_on',
];
