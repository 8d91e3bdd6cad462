import { allSteps, type Steps } from '../steps.js';
import { hasIntent } from './intent.js';
import type { ConfigFault, EdgeConfig, Methodology, MethodologyReading, Profile } from './methodology.js';
import { FEATURE_LENGTH_MAX, METHODOLOGY_LENGTH_MAX } from './methodology-schema.js';
import { builtInEdge, builtInFile, builtInProfiles } from './read/built-in.js';
import { type ConstraintsReading, readConstraints } from './read/constraints.js';
import { type Coordination, readCoordination } from './read/coordination.js';
import { readEdgeFile } from './read/edge-config.js';
import { composeEdges } from './read/edge-configs.js';
import type { EdgeNames } from './read/edge-names.js';
import { readFeatures } from './read/features.js';
import { Findings } from './read/findings.js';
import { readModules } from './read/modules.js';
import { readProfile, THRESHOLDS, type Thresholds } from './read/profile.js';
import { readRoles } from './read/roles.js';
import { readThresholds } from './read/thresholds.js';
import { readTopology, type TopologyReading } from './read/topology.js';
import { tooMuch, WorkspaceFiles } from './read/workspace-files.js';

/**
 * All that the files of a workspace say, in normal form, or everything that is wrong with them. By path from
 * `.ai-workspace/`; where there is no file, the built-in one stands.
 */
export const readMethodology = (files: ReadonlyMap<string, string>): MethodologyReading =>
  allSteps(methodologySteps(files));

/** The same, a file at a time: whoever has others to serve does so in between. */
export function* methodologySteps(files: ReadonlyMap<string, string>): Steps<MethodologyReading> {
  const message = tooMuch(files);
  if (message !== null) return { ok: false, faults: [{ file: '', path: '', message }] };
  const findings = new Findings();
  const opened = new WorkspaceFiles(files, findings);
  yield* opened.opening(['other', 'profile', 'edge', 'feature']);
  const reading = new MethodologyReader(opened, findings).read();
  const faults = inOrder(findings.faults);
  if (reading === null || faults.length > 0) return { ok: false, faults };
  return { ok: true, ...reading, warnings: inOrder(findings.warnings) };
}

const inOrder = (findings: readonly ConfigFault[]): ConfigFault[] =>
  [...findings].sort(
    (a, b) =>
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );

class MethodologyReader {
  constructor(
    private readonly files: WorkspaceFiles,
    private readonly findings: Findings,
  ) {}

  /** Null, with the faults told: there is no point in going on. */
  read(): Omit<MethodologyReading & { ok: true }, 'ok' | 'warnings'> | null {
    const graph = this.topology();
    if (graph === null) return null;
    const { topology, names } = graph;
    const constraints = this.constraints();
    const coordination = this.coordination();
    const profiles = this.profiles(names);
    const edges = this.edges(graph);
    const rolesFile = this.files.has('roles') ? this.files.one('roles') : builtInFile('agent_roles.yml');
    const roles = rolesFile && readRoles(rolesFile, names);
    const modulesFile = this.files.one('modules');
    if (constraints === null || coordination === null || roles === null) return null;
    const default_profile = this.defaultProfile(constraints, profiles);
    const methodology: Methodology = {
      mode: coordination.mode ?? 'multi',
      default_profile,
      topology,
      edges: constraints.amend(edges, names),
      profiles,
      roles,
      parallelism: { enforce: coordination.enforce },
      claims: coordination.claims,
      modules: modulesFile && readModules(modulesFile),
      constraints: constraints.constraints,
      has_intent: this.files.textsOf('intent').some(hasIntent),
    };
    const features = readFeatures(this.files.all('feature'), profiles, default_profile);
    this.bound('', methodology, METHODOLOGY_LENGTH_MAX);
    for (const feature of features) this.bound(feature.feature_id, feature, FEATURE_LENGTH_MAX);
    return { methodology, features };
  }

  private topology(): TopologyReading | null {
    const file = this.files.has('topology')
      ? this.files.one('topology')
      : builtInFile('graph/graph_topology.yml');
    return file && readTopology(file);
  }

  private constraints(): ConstraintsReading | null {
    const builtIn = readConstraints(builtInFile('context/project_constraints.yml'), null);
    if (!this.files.has('constraints')) return builtIn;
    const file = this.files.one('constraints');
    return file && readConstraints(file, builtIn?.constraints ?? null);
  }

  private coordination(): Coordination | null {
    const file = this.files.has('coordination')
      ? this.files.one('coordination')
      : builtInFile('coordination.yml');
    return file && readCoordination(file);
  }

  /** The built-in ones stay, save those that the workspace has a file for. */
  private profiles(names: EdgeNames): Record<string, Profile> {
    const builtIn: Record<string, Profile> = {};
    for (const file of builtInProfiles()) {
      const profile = readProfile(file, names, () => THRESHOLDS);
      if (profile !== null) builtIn[profile.name] = profile;
    }
    const thresholdsOf = this.thresholds(builtIn);
    const written: Record<string, Profile> = {};
    for (const file of this.files.all('profile')) {
      const profile = readProfile(file, names, thresholdsOf);
      if (profile === null) continue;
      if (Object.hasOwn(written, profile.name)) {
        file.warn(['profile'], `There is another file of the profile ${profile.name}; this one is left out.`);
      } else written[profile.name] = profile;
    }
    return { ...builtIn, ...written };
  }

  /** When work goes to a human, where a profile's own file does not say it. */
  private thresholds(builtIn: Readonly<Record<string, Profile>>): (profile: string) => Thresholds {
    const file = this.files.one('thresholds');
    if (file !== null) return readThresholds(file);
    return (profile) => (Object.hasOwn(builtIn, profile) ? builtIn[profile] : undefined) ?? THRESHOLDS;
  }

  private edges(graph: TopologyReading): Record<string, EdgeConfig> {
    const { names } = graph;
    const written = this.files
      .all('edge')
      .map((file) => readEdgeFile(file, names))
      .filter((file) => file !== null);
    return composeEdges(graph, written, (edge) => {
      const file = builtInEdge(edge, names);
      return file && readEdgeFile(file, names);
    });
  }

  private defaultProfile(constraints: ConstraintsReading, profiles: Record<string, Profile>): string {
    const asked = constraints.default_profile ?? 'standard';
    if (Object.hasOwn(profiles, asked)) return asked;
    const known = Object.keys(profiles);
    if (constraints.default_profile !== null) {
      const message = `There is no profile ${JSON.stringify(asked)}; there are ${known.join(', ')}.`;
      constraints.file.fault(['project', 'default_profile'], message);
    }
    return known[0] ?? asked;
  }

  private bound(path: string, value: unknown, length_max: number): void {
    const { length } = JSON.stringify(value);
    if (length <= length_max) return;
    const message = `What the files say comes to ${length} characters; at most ${length_max} are kept.`;
    this.findings.fault({ file: '', path, message });
  }
}
