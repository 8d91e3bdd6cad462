import { expect, test } from 'vitest';
import { gen } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

test('gen zoom --mermaid draws the machine of an edge', async () => {
  const terminal = await createProject();
  const zoom = (...args: string[]) => gen(terminal, 'zoom', '--mermaid', ...args);
  const drawn = await zoom('--edge', 'design→code');
  expect(drawn.out).toContain('stateDiagram-v2');
  expect(drawn.out).toContain('ConstructCandidate');
  expect((await zoom()).code).toBe(2);
  expect((await zoom('--edge', 'nowhere')).err).toContain('The graph has no edge nowhere');
});

// req: ITR-011
test('gen runs lists, shows, cancels and retries runs, by the beginning of their id', async () => {
  const terminal = await createProject();
  const edge = `${FEATURE_ID}#design_code`;
  expect((await gen(terminal, 'runs')).out).toContain('No edge has been run');
  const dryRun = await gen(terminal, 'iterate', edge, '--dry-run');
  expect(dryRun.out.indexOf('StartAt')).toBeLessThan(dryRun.out.indexOf('REQUIRED'));
  expect(dryRun.out).toContain('design_code has no constructor.');
  const iterateWith = async (settings: string) => {
    await writeProjectFile(terminal.cwd, '.ai-workspace/engine.yml', settings);
    expect((await gen(terminal, 'init')).code).toBe(0);
    return gen(terminal, 'iterate', edge, '--yes', '--unsandboxed');
  };
  const construct = 'construct: { type: command, command: ["true"] }\n';
  expect(await iterateWith(construct)).toMatchObject({
    code: 2,
    err: expect.stringContaining('no evaluator'),
  });
  // The draft stays empty, so the run fails without a candidate.
  await iterateWith(`${construct}evaluate: { type: command, command: ["true"] }\n`);
  const { runs } = JSON.parse((await gen(terminal, 'runs', '--json')).out);
  expect(runs).toMatchObject([{ task_id: edge, status: 'ESCALATED' }]);
  const id: string = runs[0].run_id;
  const shown = await gen(terminal, 'runs', 'show', id.slice(0, 13));
  expect(shown.out).toContain('construct_candidate');
  expect(shown.out.replace(/\s+/g, ' ')).toContain('The agent changed nothing');
  expect((await gen(terminal, 'runs', 'show', 'f')).err).toContain('There is no run f');
  const retried = await gen(terminal, 'runs', 'retry', id);
  expect(retried.out).toContain(`gen iterate ${edge}`);
  const listed = JSON.parse((await gen(terminal, 'runs', '--json')).out).runs;
  expect(listed).toMatchObject([{ status: 'REQUESTED', retry_of: id }, { run_id: id }]);
  const ambiguous = await gen(terminal, 'runs', 'show', '');
  expect(ambiguous).toMatchObject({ code: 1, err: expect.stringContaining('begins the ids of 2 runs') });
  for (const { run_id } of listed) expect(ambiguous.err).toContain(run_id);
  expect((await gen(terminal, 'runs', 'cancel', listed[0].run_id)).out).toContain('is cancelled');
  const again = await gen(terminal, 'runs', 'cancel', listed[0].run_id);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('RUN_ENDED') });
  expect((await gen(terminal, 'status', '--health')).out).toContain('spent by runs');
});
