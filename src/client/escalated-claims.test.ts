import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ESCALATED_MAX, EscalatedClaims } from './escalated-claims.js';
import { tempFolder } from './testing/client-harness.js';

const CLAIM = { task_id: 'F-1#a_b', session_id: 'sess-a', agent_id: 'agent-a', generation: 1 };
const acceptAll = () => true;
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const pidOfDeadProcess = (): number => spawnSync(process.execPath, ['--version']).pid;

test('only one taker owns a claim until it gives the claim back', async () => {
  const folder = await tempFolder();
  const claims = new EscalatedClaims(folder);
  await claims.add('r-1', CLAIM);
  expect(await claims.take(() => false)).toEqual([]);
  const taken = (
    await Promise.all([claims.take(acceptAll), new EscalatedClaims(folder).take(acceptAll)])
  ).flat();
  expect(taken).toMatchObject([{ claim: CLAIM }]);
  expect(await claims.take(acceptAll)).toEqual([]);
  for (const each of taken) await claims.giveBack(each);
  expect(await readdir(folder)).toEqual(['r-1.escalated']);
  const takenAgain = await claims.take(acceptAll);
  expect(takenAgain).toHaveLength(1);
  for (const each of takenAgain) await claims.remove(each);
  expect(await readdir(folder)).toEqual([]);
});

test('a claim of a process that has ended is taken over, and one of a living process is not', async () => {
  const folder = await tempFolder();
  const claims = new EscalatedClaims(folder);
  const ownedFileName = (id: string, pid: number) => join(folder, `${id}~${host}-${pid}-0a0a0a0a.escalated`);
  await writeFile(ownedFileName('r-1', pidOfDeadProcess()), JSON.stringify(CLAIM));
  await writeFile(ownedFileName('r-2', process.ppid), JSON.stringify({ ...CLAIM, task_id: 'F-2#a_b' }));
  const taken = await claims.take(acceptAll);
  expect(taken).toMatchObject([{ claim: CLAIM }]);
  const [owned] = taken;
  if (owned === undefined) throw new Error('nothing was taken');
  await utimes(owned.path, 0, 0);
  expect(await claims.keepOwnership(owned)).toBe(true);
  await claims.remove(owned);
  expect(await claims.keepOwnership(owned)).toBe(false);
});

test('a claim that is escalated again has one file, and a broken file is removed', async () => {
  const folder = await tempFolder();
  const claims = new EscalatedClaims(folder);
  await claims.add('r-1', CLAIM);
  await claims.take(acceptAll);
  await claims.add('r-2', CLAIM);
  await writeFile(join(folder, 'r-3.escalated'), '{"task_id":');
  expect(await claims.take(acceptAll)).toMatchObject([{ claim: CLAIM }]);
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^r-2~/)]);
});

test('the number of claims is limited', async () => {
  const folder = await tempFolder();
  for (let n = 0; n < ESCALATED_MAX; n++)
    await writeFile(join(folder, `r-${n}.escalated`), JSON.stringify({ ...CLAIM, task_id: `F-${n}#a_b` }));
  await new EscalatedClaims(folder).add('r-new', CLAIM);
  const names = await readdir(folder);
  expect(names).toHaveLength(ESCALATED_MAX);
  expect(names).toContain('r-new.escalated');
});
