import type { ConfigFault } from '../../contract/problem.js';
import { ownValue } from '../../own-value.js';
import { runAtOnce, type SliceableWork } from '../../sliceable-work.js';
import { hasIntent } from './intent.js';
import {
  type EdgeConfig,
  FEATURE_LENGTH_MAX,
  type Feature,
  METHODOLOGY_LENGTH_MAX,
  type Methodology,
  type ParsedMethodology,
  type Profile,
  type Topology,
} from './methodology.js';
import { builtInEdgeFile, builtInFile, builtInProfiles } from './read/built-in.js';
import { applyEdgeOverrides, type ParsedConstraints, parseConstraints } from './read/constraints.js';
import { parseCoordination } from './read/coordination.js';
import { parseEdgeFile } from './read/edge-config.js';
import { composeEdgeConfigs } from './read/edge-configs.js';
import { type EdgeNameIndex, fileStem } from './read/edge-names.js';
import { parseEngineSettings } from './read/engine.js';
import {
  type EvaluatorDefaults,
  NO_EVALUATOR_DEFAULTS,
  parseEvaluatorDefaults,
} from './read/evaluator-defaults.js';
import { type FaultyFiles, faultyFilesOf, withoutEdgeChecks } from './read/faulty-files.js';
import { parseFeatures } from './read/features.js';
import { parseModules } from './read/modules.js';
import { DEFAULT_THRESHOLDS, type IterationThresholds, parseProfile } from './read/profile.js';
import { parseRoles } from './read/roles.js';
import { parseThresholds } from './read/thresholds.js';
import { type ParsedTopology, parseTopology } from './read/topology.js';
import { sizeLimitText, WorkspaceFiles, type WorkspaceTexts } from './read/workspace-files.js';
import { ConfigFaultList } from './read/yaml-file.js';

const STANDARD_PROFILE = 'standard';
const NO_UNREADABLE_FILES: ReadonlyMap<string, string> = new Map();

/**
 * Parses the files of a workspace, by path relative to `.ai-workspace/`, into normal form. A missing file is replaced by the
 * built-in one, if there is one. A fault in the file of a feature, an edge or a profile concerns only what depends on that
 * file; a fault in a file that everything depends on, such as the topology, refuses the whole configuration.
 */
export const parseMethodology = (
  files: ReadonlyMap<string, string>,
  unreadable = NO_UNREADABLE_FILES,
): ParsedMethodology => runAtOnce(parseMethodologyInSlices({ files, unreadable }));

/** Parses the methodology. Pauses after each file. */
export function* parseMethodologyInSlices(texts: WorkspaceTexts): SliceableWork<ParsedMethodology> {
  const message = sizeLimitText(texts.files);
  if (message !== null) return { ok: false, faults: [{ file: '', path: '', message }] };
  const faultList = new ConfigFaultList();
  const workspaceFiles = new WorkspaceFiles(texts, faultList);
  yield* workspaceFiles.openInSlices(['profile', 'edge', 'feature']);
  const parsed = parseFiles(workspaceFiles, faultList);
  const faults = sortFaults(faultList.faults);
  if (parsed === null || parsed.faultyFiles.affectsEverything) return { ok: false, faults };
  const { methodology, features } = parsed;
  return { ok: true, methodology, features, warnings: sortFaults(faultList.warnings), faults };
}

const sortFaults = (faults: readonly ConfigFault[]): ConfigFault[] =>
  [...faults].sort(
    (a, b) =>
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );

/** Parses the opened files; null if a reported fault prevents this, such as one in the topology. */
function parseFiles(
  files: WorkspaceFiles,
  faultList: ConfigFaultList,
): {
  readonly methodology: Methodology;
  readonly features: readonly Feature[];
  readonly faultyFiles: FaultyFiles;
} | null {
  const topologyFile = files.fileOrBuiltIn('topology', 'graph/graph_topology.yml');
  const graph = topologyFile && parseTopology(topologyFile);
  if (graph === null) return null;
  const { topology, names } = graph;
  const constraints = constraintsOf(files, topology);
  const coordinationFile = files.fileOrBuiltIn('coordination', 'coordination.yml');
  const coordination = coordinationFile && parseCoordination(coordinationFile);
  const defaults = evaluatorDefaultsOf(files);
  const profiles = profilesOf(files, names, defaults, faultList);
  warnAboutMissingEdges(profiles, graph);
  const edges = edgesOf(files, graph, defaults);
  const rolesFile = files.fileOrBuiltIn('roles', 'agent_roles.yml');
  const roles = rolesFile && parseRoles(rolesFile, names);
  const modulesFile = files.fileOf('modules');
  const engineFile = files.fileOf('engine');
  const engine = engineFile && parseEngineSettings(engineFile);
  if (constraints === null || coordination === null || roles === null) return null;
  const default_profile = defaultProfileOf(constraints, profiles);
  const methodology: Methodology = {
    ...coordination,
    default_profile,
    topology,
    edges: applyEdgeOverrides(edges, names, constraints),
    profiles,
    roles,
    modules: modulesFile && parseModules(modulesFile),
    constraints: constraints.constraints,
    has_intent: files.textsOf('intent').some(hasIntent),
    ...(engine === null ? {} : { engine }),
  };
  const parsedFeatures = parseFeatures(files.filesOf('feature'), profiles, default_profile);
  checkLength('', 'The configuration', methodology, METHODOLOGY_LENGTH_MAX, faultList);
  for (const { feature } of parsedFeatures)
    checkLength(
      feature.feature_id,
      `The feature ${feature.feature_id}`,
      feature,
      FEATURE_LENGTH_MAX,
      faultList,
    );
  const faultyFiles = faultyFilesOf(files, names, faultList, constraints.default_profile ?? STANDARD_PROFILE);
  const features = parsedFeatures
    .filter(({ file }) => !faultyFiles.names.has(file.name))
    .map(({ feature }) => feature);
  return { methodology: withoutEdgeChecks(methodology, faultyFiles.edges), features, faultyFiles };
}

function constraintsOf(files: WorkspaceFiles, topology: Topology): ParsedConstraints | null {
  const path = 'context/project_constraints.yml';
  const builtIn = parseConstraints(builtInFile(path), null, []);
  const file = files.fileOrBuiltIn('constraints', path);
  const dimensionNames = [
    ...Object.keys(builtIn?.constraints.constraint_dimensions ?? {}),
    ...topology.constraint_dimensions.map(({ name }) => name),
  ];
  return file && parseConstraints(file, builtIn?.constraints ?? null, dimensionNames);
}

/** Warns about profiles that name missing edges. Their features cannot converge, because steps in the middle are missing. */
function warnAboutMissingEdges(profiles: Readonly<Record<string, Profile>>, { file }: ParsedTopology): void {
  for (const { name, missing_edges = [] } of Object.values(profiles)) {
    if (missing_edges.length === 0) continue;
    const message = `The profile ${name} names edges that the topology does not have: ${missing_edges.join(', ')}. Features with this profile cannot converge: add the edges, or write profiles/${name}.yml with edges of this topology.`;
    file.warn(['transitions'], message);
  }
}

/** The built-in profiles and the workspace's profiles. A workspace profile replaces the built-in one of the same name. */
function profilesOf(
  files: WorkspaceFiles,
  names: EdgeNameIndex,
  { thresholds }: EvaluatorDefaults,
  faultList: ConfigFaultList,
): Record<string, Profile> {
  const builtIn: Record<string, Profile> = {};
  for (const file of builtInProfiles()) {
    const profile = parseProfile(file, names, () => DEFAULT_THRESHOLDS);
    if (profile !== null) builtIn[profile.name] = profile;
  }
  const thresholdsFile = files.fileOf('thresholds');
  // The thresholds of a profile whose file does not set them.
  const defaultThresholdsOf =
    thresholdsFile === null
      ? (profile: string): IterationThresholds => ({
          ...(ownValue(builtIn, profile) ?? DEFAULT_THRESHOLDS),
          ...thresholds,
        })
      : parseThresholds(thresholdsFile, { ...DEFAULT_THRESHOLDS, ...thresholds });
  const fromFiles: Record<string, Profile> = {};
  for (const file of files.filesOf('profile')) {
    const profile = parseProfile(file, names, defaultThresholdsOf);
    if (profile === null) continue;
    if (Object.hasOwn(fromFiles, profile.name)) {
      file.warn(['profile'], `Another file defines the profile ${profile.name}; this file is ignored.`);
    } else fromFiles[profile.name] = profile;
  }
  const profiles = { ...builtIn, ...fromFiles };
  // An earlier or built-in profile does not replace a faulty one of the same name, because the faulty one may require more.
  for (const { file } of faultList.faults) {
    if (files.pathsOf('profile').includes(file)) delete profiles[fileStem(file)];
  }
  return profiles;
}

/** The defaults of `evaluator_defaults.yml`; empty if the file is missing or has faults. */
function evaluatorDefaultsOf(files: WorkspaceFiles): EvaluatorDefaults {
  const file = files.fileOf('evaluator_defaults');
  return (file && parseEvaluatorDefaults(file)) ?? NO_EVALUATOR_DEFAULTS;
}

function edgesOf(
  files: WorkspaceFiles,
  graph: ParsedTopology,
  defaults: EvaluatorDefaults,
): Record<string, EdgeConfig> {
  const { names } = graph;
  const edgeFiles = files.filesOf('edge').map((file) => parseEdgeFile(file, names, defaults));
  return composeEdgeConfigs(
    graph,
    edgeFiles.filter((file) => file !== null),
    (edge) => {
      const file = builtInEdgeFile(edge, names);
      return file && parseEdgeFile(file, names, defaults);
    },
    defaults,
  );
}

function defaultProfileOf(
  { default_profile, file }: ParsedConstraints,
  profiles: Readonly<Record<string, Profile>>,
): string {
  const requested = default_profile ?? STANDARD_PROFILE;
  if (Object.hasOwn(profiles, requested)) return requested;
  const profileNames = Object.keys(profiles);
  if (default_profile !== null) {
    const message = `Unknown profile ${JSON.stringify(requested)}; known profiles: ${profileNames.join(', ')}.`;
    file.fault(['project', 'default_profile'], message);
  }
  return profileNames[0] ?? requested;
}

function checkLength(
  path: string,
  what: string,
  value: unknown,
  lengthMax: number,
  faultList: ConfigFaultList,
): void {
  const { length } = JSON.stringify(value);
  if (length <= lengthMax) return;
  const message = `${what} has ${length} characters; at most ${lengthMax} are allowed. Shorten its texts.`;
  faultList.fault({ file: '', path, message });
}
