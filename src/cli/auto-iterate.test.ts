import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gen, start, type TerminalOptions } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const SUBJECT = `${FEATURE_ID}#intent_requirements`;
const OTHER_ID = 'REQ-F-SHOP-002';
const PROFILE = `profile: minimal
graph: {include: ["intent→requirements", "requirements→design"]}
evaluators: {default: [agent, deterministic]}
`;

interface EdgeOptions {
  readonly script?: string;
  readonly command?: string;
  readonly more?: string;
}

/** The constructor writes a file; the check is a real command. */
const edgeFile = (name: string, { script, command = 'test -d docs', more = '' }: EdgeOptions = {}) => `edge: "${name}"
checklist:
  - { name: has_docs, type: deterministic, criterion: "It is there", required: true, command: "${command}" }
construct:
  type: command
  command: [sh, -c, "${script ?? `mkdir -p docs && echo done >> docs/${name.split('→')[1]}.md`}"]
convergence: { max_iterations: 3, stuck_threshold: 2${more} }
`;
const edgePath = (name: string) => `.ai-workspace/graph/edges/${name}.yml`;
const vector = (id: string, more = '') =>
  `feature: ${id}\ntitle: Another\nintent: INT-001\nvector_type: feature\nprofile: minimal\npriority: low\n${more}`;

type Project = TerminalOptions & { cwd: string };

async function createAutoProject(files: Readonly<Record<string, string>> = {}): Promise<Project> {
  const terminal = await createProject({
    '.ai-workspace/profiles/minimal.yml': PROFILE,
    [edgePath('intent_requirements')]: edgeFile('intent→requirements'),
    [edgePath('requirements_design')]: edgeFile('requirements→design'),
    '.ai-workspace/context/project_constraints.yml': CONSTRAINTS,
    ...files,
  });
  const { cwd, env } = terminal;
  return { cwd, env: { ...env, PATH: process.env.PATH ?? '' } };
}
const CONSTRAINTS = `constraint_dimensions:
  ecosystem_compatibility: {language: javascript}
  deployment_target: {platform: server}
  security_model: {authentication: none}
  build_system: {tool: npm}
`;

const auto = (project: Project, ...argv: string[]) =>
  gen(project, 'iterate', '--auto', '--unsandboxed', '--yes', '--role', 'full_stack', ...argv);

const eventsOf = async ({ cwd }: Project): Promise<{ event_type: string; subject?: string }[]> =>
  (await readFile(join(cwd, '.ai-workspace/events/events.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event_type: string });

const convergedIn = async (project: Project): Promise<number> =>
  (await eventsOf(project)).filter(({ event_type }) => event_type === 'edge_converged').length;

describe('gen iterate --auto', { timeout: 120_000 }, () => {
  it('runs edge after edge until nothing is ready', async () => {
    const project = await createAutoProject();
    const ended = await auto(project);
    expect(ended.err).toContain('ConstructCandidate');
    expect(ended.out).toContain('Nothing is ready.');
    expect(ended.code).toBe(0);
    expect(await convergedIn(project)).toBe(2);
    expect(await readFile(join(project.cwd, 'docs/design.md'), 'utf8')).toBe('done\n');
  });
});
