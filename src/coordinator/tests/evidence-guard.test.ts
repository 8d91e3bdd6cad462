import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';
import { blobsOf, uploadCandidate } from '../../../test/support/signing-runner.js';
import { evaluatorReport, featureFile } from '../../../test/support/workspace-files.js';

const FEATURE = 'REQ-F-A';
const REPORTED = evaluatorReport({ reads_well: 'pass' });
const AGENT_CHECK = '{ name: reads_well, type: agent, criterion: it reads well, required: true }';
const PROGRAM_CHECK =
  '{ name: tests_pass, type: deterministic, criterion: tests pass, required: true, command: "sh tools/verify.sh" }';
const edgeFile = (edge: string, ...checks: string[]) =>
  `edge: "${edge}"\nchecklist:\n${checks.map((check) => `  - ${check}\n`).join('')}`;
const FILES = {
  'agent_roles.yml': 'roles:\n  dev: { converge_edges: all }\n',
  [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
  'graph/edges/design_code.yml': edgeFile('design→code', AGENT_CHECK),
  'graph/edges/code_unit_tests.yml': edgeFile('code↔unit_tests', PROGRAM_CHECK),
};

const FILES_WITH_CHECK = {
  ...FILES,
  'graph/edges/design_code.yml': edgeFile('design→code', AGENT_CHECK, PROGRAM_CHECK),
};

const BOTH_EDGES = 'include: [design→code, code↔unit_tests]';
const OPTIONAL = 'optional: [code↔unit_tests]';
/** The graph of a profile, and its evaluators of design→code. */
type ProfileParts = readonly [graph: string, evaluators: string];
const profileFile = (profile: string, [graph, ofDesignCode]: ProfileParts) =>
  `profile: ${profile}
graph: { ${graph} }
evaluators:
  default: [agent, deterministic]
  overrides: { "design→code": { evaluators: [${ofDesignCode}] } }
`;

forEachStore('under the policy `evidence: verified`, without evidence', (open) => {
  async function openProject(files: Readonly<Record<string, string>> = FILES, evidence = 'verified') {
    const harness = await open();
    const { coordinator } = harness;
    unwrap(await coordinator.settings.configure(PROJECT_KEY, { files }));
    unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { evidence }));
    const agent = new HarnessAgent(harness, 'alpha', 's1');
    const submit = async (feature: string, changed: string) => {
      const task = `${feature}#design_code`;
      await agent.claim(task, { agent_role: 'dev' });
      const { manifest } = await uploadCandidate(blobsOf(coordinator), { [changed]: 'x' }, [changed]);
      return agent.submit(task, manifest, REPORTED);
    };
    return { coordinator, submit };
  }

  test.each(['package.json', 'test/cart.test.ts', 'tools/verify.sh'])(
    'a result of an edge without deterministic checks waits for a person if it changes %s, which judges another edge',
    async (path) => {
      const { submit } = await openProject();
      expect(await submit(FEATURE, path)).toMatchObject({
        reason: 'ESCALATED',
        next: expect.stringContaining(`the result changes checks or tests: ${path}`),
      });
    },
  );

  test.each(['feature', 'spike', 'poc'] as const)(
    'a result of a spawned %s, whose profile leaves out deterministic checks, waits for a person',
    async (vector_type) => {
      const { coordinator, submit } = await openProject(FILES_WITH_CHECK);
      const spawnFields =
        vector_type === 'feature' ? { feature_id: 'REQ-F-NEW', profile: 'poc' } : { parent: FEATURE };
      const body = { vector_type, ...spawnFields, reason: 'try it', agent_id: 'alpha' };
      const { feature_id } = unwrap(await coordinator.methodology.spawn(PROJECT_KEY, body));
      expect(await submit(feature_id ?? '', 'src/cart.ts')).toMatchObject({
        reason: 'ESCALATED',
        next: expect.stringContaining('that the default profile requires: tests_pass'),
      });
    },
  );

  test.each<[string, ProfileParts, ProfileParts]>([
    ['drops a human check', [BOTH_EDGES, 'agent, human'], [BOTH_EDGES, 'agent']],
    ['skips an edge with a deterministic check', [BOTH_EDGES, 'agent'], ['include: [design→code]', 'agent']],
    [
      'makes an edge with a deterministic check optional',
      [BOTH_EDGES, 'agent'],
      [`include: [design→code], ${OPTIONAL}`, 'agent'],
    ],
  ])('a result of a spawned feature waits for a person if its profile %s', async (_, strict, weak) => {
    const { coordinator, submit } = await openProject({
      ...FILES,
      'context/project_constraints.yml': 'project:\n  default_profile: strict\n',
      'profiles/strict.yml': profileFile('strict', strict),
      'profiles/weak.yml': profileFile('weak', weak),
    });
    const body = { vector_type: 'feature', feature_id: 'REQ-F-NEW', reason: 'try it', agent_id: 'alpha' };
    unwrap(await coordinator.methodology.spawn(PROJECT_KEY, { ...body, profile: 'weak' }));
    expect(await submit('REQ-F-NEW', 'src/cart.ts')).toMatchObject({
      reason: 'ESCALATED',
      next: expect.stringContaining('leaves out checks or edges that the default profile requires'),
    });
  });

  test('a result does not wait if the default profile leaves out the checks too, or if the policy is `reported`', async () => {
    const spike = { [`features/active/${FEATURE}.yml`]: featureFile(FEATURE, 'spike') };
    const isDefault = { 'context/project_constraints.yml': 'project:\n  default_profile: spike\n' };
    const verified = await openProject({ ...FILES_WITH_CHECK, ...spike, ...isDefault });
    expect(await verified.submit(FEATURE, 'src/cart.ts')).toMatchObject({ accepted: true });
    const reported = await openProject({ ...FILES_WITH_CHECK, ...spike }, 'reported');
    expect(await reported.submit(FEATURE, 'src/cart.ts')).toMatchObject({ accepted: true });
  });

  test('a result of an edge without deterministic checks is accepted if it changes other files', async () => {
    const { submit } = await openProject();
    expect(await submit(FEATURE, 'src/cart.ts')).toMatchObject({ accepted: true });
  });
});
