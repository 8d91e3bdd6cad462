import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, P, unwrap } from '../../../test/support/coordinator-harness.js';
import { blobsOf, uploadCandidate } from '../../../test/support/test-runner.js';
import { evaluatorReport, vector } from '../../../test/support/workspace-files.js';

const FEATURE = 'REQ-F-A';
const REPORTED = evaluatorReport({ reads_well: 'pass' });
const AGENT_CHECK = '{ name: reads_well, type: agent, criterion: it reads well, required: true }';
const PROGRAM_CHECK =
  '{ name: tests_pass, type: deterministic, criterion: tests pass, required: true, command: "sh tools/verify.sh" }';
const edgeFile = (edge: string, ...checks: string[]) =>
  `edge: "${edge}"\nchecklist:\n${checks.map((check) => `  - ${check}\n`).join('')}`;
const FILES = {
  'agent_roles.yml': 'roles:\n  dev: { converge_edges: all }\n',
  [`features/active/${FEATURE}.yml`]: vector(FEATURE),
  'graph/edges/design_code.yml': edgeFile('design→code', AGENT_CHECK),
  'graph/edges/code_unit_tests.yml': edgeFile('code↔unit_tests', PROGRAM_CHECK),
};

forEachStore('under the policy `evidence: verified`, without evidence', (open) => {
  async function openProject(files: Readonly<Record<string, string>> = FILES, evidence = 'verified') {
    const harness = await open();
    const { coordinator } = harness;
    unwrap(await coordinator.settings.configure(P, { files }));
    unwrap(await coordinator.settings.putPolicy(P, { evidence }));
    const agent = new HarnessAgent(harness, 'alpha', 's1');
    const submit = async (feature: string, changed: string) => {
      const task = `${feature}#design_code`;
      await agent.claims(task, { agent_role: 'dev' });
      const { manifest } = await uploadCandidate(blobsOf(coordinator), { [changed]: 'x' }, [changed]);
      return agent.submits(task, manifest, REPORTED);
    };
    return { coordinator, submit };
  }

  test.each(['package.json', 'test/cart.test.ts', 'tools/verify.sh'])(
    'a result of an edge without deterministic checks waits for a human if it changes %s, which judges another edge',
    async (path) => {
      const { submit } = await openProject();
      expect(await submit(FEATURE, path)).toMatchObject({
        reason: 'ESCALATED',
        next: expect.stringContaining(`it changes what judges it: ${path}`),
      });
    },
  );

  test('a result of that edge that changes other files is accepted', async () => {
    const { submit } = await openProject();
    expect(await submit(FEATURE, 'src/cart.ts')).toMatchObject({ accepted: true });
  });
});
