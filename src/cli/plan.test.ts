import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { PLAN, startHarness, startPlannedHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

it('lists every fault of a plan with its position, without a server', async () => {
  const cwd = await temporaryFolder();
  const plan =
    'project: p\ntracks:\n  A:\n    - id: A-001-x\n      description: x\n      depends_on: [A-009-y]\n    - id: bad\n      description: y\n';
  await writeFile(join(cwd, 'plan.yaml'), plan);
  const { code, err } = await runGen({ cwd }, 'plan', 'check', 'plan.yaml');
  expect(code).toBe(1);
  expect(err).toMatch(/plan\.yaml:6:\d+: UNKNOWN_DEPENDENCY/);
  expect(err).toMatch(/plan\.yaml:7:\d+: BAD_ID/);
  const { out } = await runGen({ cwd }, 'plan', 'check', 'plan.yaml', '--json');
  expect(JSON.parse(out)).toMatchObject({
    ok: false,
    faults: [{ code: 'UNKNOWN_DEPENDENCY' }, { code: 'BAD_ID' }],
  });
});

it('gen plan counts subtasks separately from tasks', async () => {
  const { terminal } = await startHarness();
  expect((await runGen(terminal, 'plan', 'check', 'plan.yaml')).out).toContain('3 tasks, 2 subtasks');
  expect((await runGen(terminal, 'plan', 'import', 'plan.yaml')).out).toContain('3 tasks, 2 subtasks (');
});

it('draws tracks, dependencies and states within the width of the terminal', async () => {
  const { terminal } = await startHarness();
  await runGen({ ...terminal, stdin: PLAN }, 'plan', 'import', '-');
  await runGen(terminal, 'next');
  const { out } = await runGen(terminal, 'plan', 'show');
  expect(out).toMatch(/▶ A-001-schema +claimed by agent-a +Design the schema/);
  expect(out).toMatch(/claimed.*\n {2}│\n {2}· A-002-index +blocked/);
  expect(out).toMatch(/· B-001-api +blocked +The API\n {2}└← A-001-schema/);
  expect(out).toContain('A-002-index::2');
  const narrow = await runGen(
    { ...terminal, columns: 30, env: { ...terminal.env, NO_COLOR: '1' } },
    'plan',
    'show',
  );
  for (const line of narrow.out.split('\n').slice(1)) expect(line.length).toBeLessThanOrEqual(30);
});

it('refuses a plan that removes a started task', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'next');
  await writeFile(
    join(terminal.cwd, 'less.yaml'),
    'project: shop\ntracks:\n  B:\n    - id: B-001-api\n      description: x\n',
  );
  const { code, err } = await runGen(terminal, 'plan', 'import', 'less.yaml');
  expect(code).toBe(1);
  expect(err).toContain('INVALID_PLAN');
});
