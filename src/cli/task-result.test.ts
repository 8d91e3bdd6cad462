import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHarness, startPlannedHarness } from './testing/cli-harness.js';
import { runGen, type TerminalOptions } from './testing/terminal.js';

const TASK = 'A-001-schema';

async function submitFile(terminal: TerminalOptions, content: string | Uint8Array, agent: string) {
  await writeFile(join(terminal.cwd, 'work'), content);
  return runGen(terminal, 'task', 'submit', TASK, '--file', 'work', '--agent', agent);
}

/** agent-a loses its claim to agent-b, whose result is accepted; agent-a's result is parked. */
async function submitTwice(
  terminal: TerminalOptions,
  parked: string | Uint8Array,
  accepted: string | Uint8Array,
) {
  await runGen(terminal, 'task', 'claim', TASK, '--agent', 'agent-a');
  await runGen(terminal, 'task', 'force-release', TASK, '--reason', 'it hangs');
  await runGen(terminal, 'task', 'claim', TASK, '--agent', 'agent-b');
  const late = await submitFile(terminal, parked, 'agent-a');
  expect(late.err).toContain('STALE_GENERATION');
  expect((await submitFile(terminal, accepted, 'agent-b')).code).toBe(0);
  return /res_[0-9a-f]{24}/.exec(late.err)?.[0] ?? '';
}

it('gen task result shows the accepted result, the result of a generation, and a parked one', async () => {
  const { terminal } = await startPlannedHarness();
  const parkedId = await submitTwice(terminal, 'by a\n', '{"b":1,"a":[2]}');
  const accepted = await runGen(terminal, 'task', 'result', TASK);
  expect(accepted).toMatchObject({ code: 0, out: '{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n' });
  expect(accepted.err).toMatch(/^res_\w+: generation 2, accepted, by agent-b at /);
  expect(await runGen(terminal, 'task', 'result', TASK, '--parked', parkedId)).toMatchObject({
    out: 'by a\n',
    err: expect.stringContaining('generation 1, refused with STALE_GENERATION, parked, by agent-a'),
  });
  expect((await runGen(terminal, 'task', 'result', TASK, '--generation', '1')).out).toBe('by a\n');
  const json = await runGen(terminal, 'task', 'result', TASK, '--json');
  expect(JSON.parse(json.out)).toMatchObject({ accepted: true, result_data: { a: [2], b: 1 } });
});

it('names the results of the task if the requested result does not exist', async () => {
  const { terminal } = await startPlannedHarness();
  expect(await runGen(terminal, 'task', 'result', TASK)).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${TASK} has no accepted result. The task has no results.`),
  });
  const parkedId = await submitTwice(terminal, 'one', 'two');
  expect(await runGen(terminal, 'task', 'result', TASK, '--generation', '7')).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${parkedId} (generation 1, refused with STALE_GENERATION, parked)`),
  });
  expect((await runGen(terminal, 'task', 'result', TASK, '--parked', 'res_x')).code).toBe(1);
  expect((await runGen(terminal, 'task', 'result', TASK, '--parked', 'x', '--generation', '1')).code).toBe(2);
  expect((await runGen(terminal, 'task', 'result', 'Z-001-nothing')).err).toContain('NOT_FOUND');
});

it('writes the exact bytes of a text, of JSON and of a binary blob to a file', async () => {
  const { terminal } = await startPlannedHarness();
  const binary = new Uint8Array([0xff, 0, 0x1b, 10, 13]);
  // Over 64 KiB the coordinator keeps a text as a blob.
  const longText = `${'line "quoted" ü\r\n'.repeat(6000)}end`;
  const parkedId = await submitTwice(terminal, binary, longText);
  const written = await runGen(terminal, 'task', 'result', TASK, '--output', 'accepted');
  expect(written).toMatchObject({ code: 0, out: expect.stringContaining('bytes written to ') });
  expect(await readFile(join(terminal.cwd, 'accepted'), 'utf8')).toBe(longText);
  await runGen(terminal, 'task', 'result', TASK, '--parked', parkedId, '--output', 'parked');
  expect(new Uint8Array(await readFile(join(terminal.cwd, 'parked')))).toEqual(binary);
  const shown = await runGen(terminal, 'task', 'result', TASK, '--parked', parkedId);
  expect(shown.out).toMatch(/^binary, 5 bytes, SHA-256 [0-9a-f]{64}\. Write it to a file: --output FILE\n$/);
  expect(await runGen(terminal, 'task', 'result', TASK, '--output', 'no/such/folder')).toMatchObject({
    code: 2,
  });
});

it('describes a result over 1 MiB and does not print it', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', TASK);
  await submitFile(terminal, 'x'.repeat(1024 ** 2 + 1), 'agent-a');
  const { out } = await runGen(terminal, 'task', 'result', TASK);
  expect(out).toMatch(/^larger than 1 MiB, SHA-256 [0-9a-f]{64}\./);
});

it('compares the accepted result with the parked one, or two generations', async () => {
  const { terminal } = await startPlannedHarness();
  const parkedId = await submitTwice(terminal, 'same\nold\n', 'same\nnew\n');
  const { out, code } = await runGen(terminal, 'task', 'diff', TASK);
  expect(code).toBe(0);
  const [before, after, ...hunk] = out.trimEnd().split('\n');
  expect(before).toMatch(/^--- res_\w+: generation 2, accepted/);
  expect(after).toContain(`+++ ${parkedId}: generation 1, refused`);
  expect(hunk).toEqual(['@@ -1,2 +1,2 @@', ' same', '-new', '+old']);
  const generations = await runGen(terminal, 'task', 'diff', TASK, '--from', '1', '--to', '2', '--json');
  expect(JSON.parse(generations.out)).toMatchObject({
    task_id: TASK,
    from: { id: parkedId, generation: 1 },
    to: { generation: 2, accepted: true },
    same: false,
    diff: '@@ -1,2 +1,2 @@\n same\n-old\n+new',
  });
  const same = await runGen(terminal, 'task', 'diff', TASK, '--to', '2');
  expect(same.out).toContain('The results are the same.');
});

it('describes results that are not text instead of comparing them by line', async () => {
  const { terminal } = await startPlannedHarness();
  await submitTwice(terminal, new Uint8Array([0xff, 1]), 'text');
  const { out } = await runGen(terminal, 'task', 'diff', TASK);
  expect(out).toMatch(/\n- text, 4 characters\n\+ binary, 2 bytes, SHA-256 [0-9a-f]{64}\n$/);
});

it('gen task diff says what is missing if there is no parked result to compare', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', TASK);
  await submitFile(terminal, '1', 'agent-a');
  expect(await runGen(terminal, 'task', 'diff', TASK)).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is no parked result to compare.'),
  });
});

it('lists the projects of the tenant', async () => {
  const { terminal } = await startHarness();
  expect((await runGen(terminal, 'projects')).out).toContain('gen plan import FILE --project NAME');
  await runGen(terminal, 'plan', 'import', 'plan.yaml');
  await runGen(terminal, 'plan', 'import', 'plan.yaml', '--project', 'other');
  const { out } = await runGen(terminal, 'projects');
  expect(out).toMatch(/^Project +Events +Last event \(UTC\)\nother .*\nshop /);
  const json = JSON.parse((await runGen(terminal, 'projects', '--json')).out);
  expect(json).toMatchObject({ projects: [{ project_id: 'other' }, { project_id: 'shop' }], next: null });
});

it('names the projects of the tenant if none is set, and the closest name if the given project does not exist', async () => {
  const { terminal } = await startPlannedHarness();
  const elsewhere = { ...terminal, env: { ...terminal.env, GENESIS_HOME: join(terminal.cwd, 'other-home') } };
  expect(await runGen(elsewhere, 'status')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/No project is set\. .* Projects: shop\./),
  });
  expect(await runGen(terminal, 'status', '--project', 'shpo')).toMatchObject({
    code: 1,
    err: expect.stringContaining('Did you mean shop?'),
  });
});

it('shows whole dates in the history on a narrow terminal', async () => {
  const { terminal } = await startPlannedHarness();
  await submitTwice(terminal, 'one', 'two');
  const narrow = { ...terminal, columns: 60, env: { ...terminal.env, NO_COLOR: '1' } };
  const { out } = await runGen(narrow, 'task', 'history', TASK);
  expect(out.match(/^(Acquired|Released) +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/gm)).toHaveLength(4);
  expect(out).toMatch(/^Result +ACCEPTED$/m);
});
