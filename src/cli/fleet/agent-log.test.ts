import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { AgentLog } from './agent-log.js';

it('keeps the newest output in at most two files of the given size', async () => {
  const path = join(await temporaryFolder(), 'a.log');
  const log = await AgentLog.open(path, 100);
  for (let index = 0; index < 50; index += 1)
    await log.write(Buffer.from(`line ${String(index).padStart(4, '0')}\n`));
  await log.close();
  const [current, previous] = [await readFile(path, 'utf8'), await readFile(`${path}.1`, 'utf8')];
  expect(current.length).toBeLessThanOrEqual(100);
  expect(previous.length).toBeLessThanOrEqual(100);
  expect(`${previous}${current}`).toMatch(/^line 00\d\d\n(?:.*\n)*line 0048\nline 0049\n$/);
});

it('continues the log of an earlier fleet', async () => {
  const path = join(await temporaryFolder(), 'a.log');
  for (const text of ['first\n', 'second\n']) {
    const log = await AgentLog.open(path);
    await log.write(Buffer.from(text));
    await log.close();
  }
  expect(await readFile(path, 'utf8')).toBe('first\nsecond\n');
});

it('the log of an agent returns its last complete line, even if it came in parts', async () => {
  const log = await AgentLog.open(join(await temporaryFolder(), 'a.log'));
  await log.write(Buffer.from('one\ntw'));
  expect(log.lastLine).toBe('one');
  await log.write(Buffer.from('o\n\n'));
  expect(log.lastLine).toBe('two');
  await log.write(Buffer.from('x'.repeat(10_000)));
  await log.write(Buffer.from('\n'));
  expect(log.lastLine).toBe('x'.repeat(500));
  await log.close();
});
