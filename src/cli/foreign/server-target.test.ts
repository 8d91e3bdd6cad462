import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHarness } from '../testing/cli-harness.js';
import { runGen } from '../testing/terminal.js';

it('imports a log that exceeds one request into a server, and writes nothing when the log is imported again', async () => {
  const { terminal } = await startHarness();
  const lineOf = (_: unknown, line: number) =>
    JSON.stringify({
      event_type: 'edge_started',
      timestamp: '2025-12-01T10:00:00Z',
      feature: `REQ-F-${line}`,
    });
  await writeFile(join(terminal.cwd, 'old.jsonl'), Array.from({ length: 1500 }, lineOf).join('\n'));
  const argv = ['import', '--foreign', 'old.jsonl', '--project', 'shop', '--json'];
  const first = await runGen(terminal, ...argv);
  expect(JSON.parse(first.out), first.err).toMatchObject({ read: 1500, written: 1500 });
  expect(JSON.parse((await runGen(terminal, ...argv)).out)).toMatchObject({
    written: 0,
    already_there: 1500,
  });
});
