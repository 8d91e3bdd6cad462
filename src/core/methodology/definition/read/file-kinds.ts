export const FILES_MAX = 5000;
/** Maximum length of all files together, in characters. Parsed files take many times their length in memory. */
export const ALL_FILES_LENGTH_MAX = 4 * 1024 * 1024;

/** Location of each kind of file, relative to `.ai-workspace/`. Earlier entries take precedence. */
const FILE_PATTERNS = [
  ['topology', /^graph\/graph_topology\.ya?ml$/],
  ['topology', /^config\/graph_topology\.ya?ml$/],
  ['edge', /^graph\/edges\/[^/]+\.ya?ml$/],
  ['edge', /^graph\/edge_params\/[^/]+\.ya?ml$/],
  ['edge', /^config\/(edges|edge_params)\/[^/]+\.ya?ml$/],
  ['profile', /^profiles\/[^/]+\.ya?ml$/],
  ['profile', /^config\/profiles\/[^/]+\.ya?ml$/],
  ['roles', /^agent_roles\.ya?ml$/],
  ['roles', /^config\/agent_roles\.ya?ml$/],
  ['coordination', /^coordination\.ya?ml$/],
  ['coordination', /^config\/coordination\.ya?ml$/],
  ['engine', /^engine\.ya?ml$/],
  ['engine', /^config\/engine\.ya?ml$/],
  ['constraints', /^[^/]+\/context\/project_constraints\.ya?ml$/],
  ['constraints', /^(?!context\/|config\/)[^/]+\/project_constraints\.ya?ml$/],
  ['constraints', /^context\/project_constraints\.ya?ml$/],
  ['constraints', /^config\/project_constraints\.ya?ml$/],
  ['modules', /^graph\/modules\.ya?ml$/],
  ['modules', /^config\/modules\.ya?ml$/],
  ['thresholds', /^(graph|config)\/intentengine_config\.ya?ml$/],
  ['feature', /^features\/(active|completed)\/[^/]+\.ya?ml$/],
  ['feature', /^vectors\/(active|completed)\/[^/]+\.ya?ml$/],
  ['intent', /^(\.\.\/)?(specification|spec)\/INTENT\.md$/],
  ['evaluator_defaults', /^(graph|config)\/evaluator_defaults\.ya?ml$/],
] as const;
export type WorkspaceFileKind = (typeof FILE_PATTERNS)[number][0];

/** Groups files by kind, in order of precedence and then by name. Files of no kind are omitted. */
export function filesByKind(paths: Iterable<string>): Map<WorkspaceFileKind, string[]> {
  const ranked = [...paths]
    .map((path) => ({ path, rank: FILE_PATTERNS.findIndex(([, pattern]) => pattern.test(path)) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank || (a.path < b.path ? -1 : 1));
  const byKind = new Map<WorkspaceFileKind, string[]>();
  for (const { path, rank } of ranked) {
    const kind = FILE_PATTERNS[rank]?.[0] as WorkspaceFileKind;
    const kindPaths = byKind.get(kind) ?? [];
    kindPaths.push(path);
    byKind.set(kind, kindPaths);
  }
  return byKind;
}

/** Whether a file says how the agents of a workspace are coordinated. */
export const isCoordinationFile = (path: string): boolean => filesByKind([path]).has('coordination');
