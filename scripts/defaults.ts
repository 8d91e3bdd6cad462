/** The built-in files of the methodology, in the order in which `gen init` reports them. */
export const DEFAULT_PATHS = [
  'graph/graph_topology.yml',
  'graph/edges/intent_requirements.yml',
  'graph/edges/requirements_design.yml',
  'graph/edges/design_code.yml',
  'graph/edges/tdd.yml',
  'graph/edges/design_tests.yml',
  'graph/edges/bdd.yml',
  'graph/edges/code_cicd.yml',
  'graph/edges/cicd_running_system.yml',
  'graph/edges/running_system_telemetry.yml',
  'graph/edges/feedback_loop.yml',
  'profiles/full.yml',
  'profiles/standard.yml',
  'profiles/poc.yml',
  'profiles/spike.yml',
  'profiles/hotfix.yml',
  'profiles/minimal.yml',
  'agent_roles.yml',
  'coordination.yml',
  'context/project_constraints.yml',
] as const;

const HEADER = `// Generated from defaults/*.yml. Do not edit: change those files, then run \`npm run generate\`.

/**
 * Built-in files: written by \`gen init\`, and used for every file that a workspace lacks. By path relative to
 * \`.ai-workspace/\`.
 */
export const DEFAULT_FILES: ReadonlyMap<string, string> = new Map([
`;

/** The module that holds the built-in files as text, because core reads no file. */
export function defaultsModule(files: ReadonlyMap<string, string>): string {
  const unlisted = [...files.keys()].filter((path) => !DEFAULT_PATHS.some((listed) => listed === path));
  if (unlisted.length > 0)
    throw new Error(`DEFAULT_PATHS does not list ${unlisted.join(', ')}. Add it to scripts/defaults.ts.`);
  const entries = DEFAULT_PATHS.map((path) => {
    const text = files.get(path);
    if (text === undefined)
      throw new Error(`There is no ${path}. Add the file, or remove it from DEFAULT_PATHS.`);
    return `  [\n    '${path}',\n    \`${text.replace(/[\\`]|\$\{/g, '\\$&')}\`,\n  ],\n`;
  });
  return `${HEADER}${entries.join('')}]);\n`;
}
