import { DEFAULT_FILES } from '../defaults.generated.js';
import { canonicalEdge } from '../edge-name.js';
import { type EdgeNameIndex, fileStem } from './edge-names.js';
import { ConfigFaultList, openYamlFile, type YamlFile } from './yaml-file.js';

const builtInCache = new Map<string, YamlFile>();

/** Returns a built-in file. Each is parsed once per process, when the first workspace needs it. */
export function builtInFile(path: string): YamlFile {
  const cached = builtInCache.get(path);
  if (cached !== undefined) return cached;
  const file = openYamlFile(path, DEFAULT_FILES.get(path) ?? '', new ConfigFaultList(), true);
  if (file === null) throw new Error(`The built-in file ${path} cannot be parsed.`);
  builtInCache.set(path, file);
  return file;
}

const pathsIn = (folder: string): string[] =>
  [...DEFAULT_FILES.keys()].filter((path) => path.startsWith(folder));

export const builtInProfiles = (): YamlFile[] => pathsIn('profiles/').map(builtInFile);

/** Finds the built-in file of an edge: the file that its transition names, otherwise the file named after the edge. */
export function builtInEdgeFile(edge: string, names: EdgeNameIndex): YamlFile | null {
  const paths = pathsIn('graph/edges/');
  const configuredPath = paths.find((path) => fileStem(path) === names.configStems.get(edge));
  const path = configuredPath ?? paths.find((candidate) => canonicalEdge(fileStem(candidate)) === edge);
  return path === undefined ? null : builtInFile(path);
}
