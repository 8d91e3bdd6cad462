import { ownValue } from '../../own-value.js';
import { runAllSteps, type StepGenerator } from '../../steps.js';
import { hasIntent } from './intent.js';
import type { ConfigFault, EdgeConfig, Methodology, ParsedMethodology, Profile } from './methodology.js';
import { FEATURE_LENGTH_MAX, METHODOLOGY_LENGTH_MAX } from './methodology-schema.js';
import { builtInEdgeFile, builtInFile, builtInProfiles } from './read/built-in.js';
import { type ParsedConstraints, parseConstraints } from './read/constraints.js';
import { type ParsedCoordination, parseCoordination } from './read/coordination.js';
import { parseEdgeFile } from './read/edge-config.js';
import { composeEdgeConfigs } from './read/edge-configs.js';
import type { EdgeNameIndex } from './read/edge-names.js';
import { parseFeatures } from './read/features.js';
import { ConfigFindings } from './read/findings.js';
import { parseModules } from './read/modules.js';
import { DEFAULT_THRESHOLDS, type IterationThresholds, parseProfile } from './read/profile.js';
import { parseRoles } from './read/roles.js';
import { parseThresholds } from './read/thresholds.js';
import { type ParsedTopology, parseTopology } from './read/topology.js';
import { sizeLimitError, WorkspaceFiles } from './read/workspace-files.js';

/**
 * Parses the files of a workspace into normal form, or returns all their faults. By path relative to `.ai-workspace/`;
 * missing files are replaced by the built-in ones.
 */
export const parseMethodology = (files: ReadonlyMap<string, string>): ParsedMethodology =>
  runAllSteps(parseMethodologySteps(files));

/** The same in steps of one file. */
export function* parseMethodologySteps(files: ReadonlyMap<string, string>): StepGenerator<ParsedMethodology> {
  const message = sizeLimitError(files);
  if (message !== null) return { ok: false, faults: [{ file: '', path: '', message }] };
  const findings = new ConfigFindings();
  const workspaceFiles = new WorkspaceFiles(files, findings);
  yield* workspaceFiles.openSteps(['other', 'profile', 'edge', 'feature']);
  const parsed = new MethodologyParser(workspaceFiles, findings).parse();
  const faults = sortFindings(findings.faults);
  if (parsed === null || faults.length > 0) return { ok: false, faults };
  return { ok: true, ...parsed, warnings: sortFindings(findings.warnings) };
}

const sortFindings = (findings: readonly ConfigFault[]): ConfigFault[] =>
  [...findings].sort(
    (a, b) =>
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );

class MethodologyParser {
  constructor(
    private readonly files: WorkspaceFiles,
    private readonly findings: ConfigFindings,
  ) {}

  /** Null if faults, already reported, make it pointless to continue. */
  parse(): Omit<ParsedMethodology & { ok: true }, 'ok' | 'warnings'> | null {
    const graph = this.topology();
    if (graph === null) return null;
    const { topology, names } = graph;
    const constraints = this.constraints();
    const coordination = this.coordination();
    const profiles = this.profiles(names);
    const edges = this.edges(graph);
    const rolesFile = this.files.has('roles') ? this.files.fileOf('roles') : builtInFile('agent_roles.yml');
    const roles = rolesFile && parseRoles(rolesFile, names);
    const modulesFile = this.files.fileOf('modules');
    if (constraints === null || coordination === null || roles === null) return null;
    const default_profile = this.defaultProfile(constraints, profiles);
    const methodology: Methodology = {
      mode: coordination.mode ?? 'multi',
      default_profile,
      topology,
      edges: constraints.applyOverrides(edges, names),
      profiles,
      roles,
      parallelism: { enforce: coordination.enforce },
      claims: coordination.claims,
      modules: modulesFile && parseModules(modulesFile),
      constraints: constraints.constraints,
      has_intent: this.files.textsOf('intent').some(hasIntent),
    };
    const features = parseFeatures(this.files.filesOf('feature'), profiles, default_profile);
    this.checkLength('', methodology, METHODOLOGY_LENGTH_MAX);
    for (const feature of features) this.checkLength(feature.feature_id, feature, FEATURE_LENGTH_MAX);
    return { methodology, features };
  }

  private topology(): ParsedTopology | null {
    const file = this.files.has('topology')
      ? this.files.fileOf('topology')
      : builtInFile('graph/graph_topology.yml');
    return file && parseTopology(file);
  }

  private constraints(): ParsedConstraints | null {
    const builtIn = parseConstraints(builtInFile('context/project_constraints.yml'), null);
    if (!this.files.has('constraints')) return builtIn;
    const file = this.files.fileOf('constraints');
    return file && parseConstraints(file, builtIn?.constraints ?? null);
  }

  private coordination(): ParsedCoordination | null {
    const file = this.files.has('coordination')
      ? this.files.fileOf('coordination')
      : builtInFile('coordination.yml');
    return file && parseCoordination(file);
  }

  /** The built-in profiles, replaced by those of the workspace with the same name. */
  private profiles(names: EdgeNameIndex): Record<string, Profile> {
    const builtIn: Record<string, Profile> = {};
    for (const file of builtInProfiles()) {
      const profile = parseProfile(file, names, () => DEFAULT_THRESHOLDS);
      if (profile !== null) builtIn[profile.name] = profile;
    }
    const thresholdsOf = this.thresholds(builtIn);
    const fromFiles: Record<string, Profile> = {};
    for (const file of this.files.filesOf('profile')) {
      const profile = parseProfile(file, names, thresholdsOf);
      if (profile === null) continue;
      if (Object.hasOwn(fromFiles, profile.name)) {
        file.warn(['profile'], `There is another file of the profile ${profile.name}; this one is left out.`);
      } else fromFiles[profile.name] = profile;
    }
    return { ...builtIn, ...fromFiles };
  }

  /** Default thresholds of a profile whose own file sets none. */
  private thresholds(builtIn: Readonly<Record<string, Profile>>): (profile: string) => IterationThresholds {
    const file = this.files.fileOf('thresholds');
    if (file !== null) return parseThresholds(file);
    return (profile) => ownValue(builtIn, profile) ?? DEFAULT_THRESHOLDS;
  }

  private edges(graph: ParsedTopology): Record<string, EdgeConfig> {
    const { names } = graph;
    const fromFiles = this.files
      .filesOf('edge')
      .map((file) => parseEdgeFile(file, names))
      .filter((file) => file !== null);
    return composeEdgeConfigs(graph, fromFiles, (edge) => {
      const file = builtInEdgeFile(edge, names);
      return file && parseEdgeFile(file, names);
    });
  }

  private defaultProfile(constraints: ParsedConstraints, profiles: Record<string, Profile>): string {
    const requested = constraints.default_profile ?? 'standard';
    if (Object.hasOwn(profiles, requested)) return requested;
    const known = Object.keys(profiles);
    if (constraints.default_profile !== null) {
      const message = `There is no profile ${JSON.stringify(requested)}; there are ${known.join(', ')}.`;
      constraints.file.fault(['project', 'default_profile'], message);
    }
    return known[0] ?? requested;
  }

  private checkLength(path: string, value: unknown, lengthMax: number): void {
    const { length } = JSON.stringify(value);
    if (length <= lengthMax) return;
    const message = `What the files say comes to ${length} characters; at most ${lengthMax} are kept.`;
    this.findings.fault({ file: '', path, message });
  }
}
