import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { git } from '../../../test/support/git.js';
import type { Anchor } from '../../core/audit/checkpoint.js';
import { openStoreUrl } from '../store-url.js';
import { FileSink } from './file-sink.js';
import { openSinks } from './sinks.js';
import { anchorsIn } from './store-sink.js';

const PROJECT = { tenant_id: 'acme', project_id: 'shop' };
const anchorAt = (position: number): Anchor => ({
  format: 'genesis-fleet checkpoint 1',
  ...PROJECT,
  incarnation: 1,
  position,
  root: 'A'.repeat(43),
  time: '2026-01-04T06:00:00.000Z',
  key_id: '0123456789abcdef',
  public_key: 'A'.repeat(43),
  signature: 'A'.repeat(86),
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sinks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('keeps checkpoints in a file, and finds the last one of each project when it is opened again', async () => {
  const path = join(await newFolder(), 'other-disk', 'anchors.jsonl');
  await new FileSink(path).send([anchorAt(3), { ...anchorAt(9), project_id: 'blog' }]);
  await appendFile(path, '{"format":"genesis-fl');
  const again = new FileSink(path);
  expect(await again.lastSent(PROJECT)).toMatchObject({ position: 3 });
  await again.send([anchorAt(7)]);
  expect(await new FileSink(path).lastSent(PROJECT)).toMatchObject({ position: 7 });
  expect(await new FileSink(path).lastSent({ ...PROJECT, project_id: 'blog' })).toMatchObject({
    position: 9,
  });
});

it('posts checkpoints to a webhook, and remembers those that it confirmed', async () => {
  const folder = await newFolder();
  const received: { status: number; positions: number[] }[] = [];
  const statuses = [503, 200];
  const server = createServer(async (request, response) => {
    const status = statuses.shift() ?? 200;
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    received.push({ status, positions: body.checkpoints.map(({ position }: Anchor) => position) });
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const [sink] = openSinks(url, folder, folder);
  await expect(sink!.send([anchorAt(3)])).rejects.toThrow('status 503');
  expect(await sink!.lastSent(PROJECT)).toBe(null);
  await sink!.send([anchorAt(3)]);
  expect(received.map(({ status }) => status)).toEqual([503, 200]);
  const [reopened] = openSinks(url, folder, folder);
  expect(await reopened!.lastSent(PROJECT)).toMatchObject({ position: 3 });
});

it('writes checkpoints as a note of the commit', async () => {
  const folder = await newFolder();
  git(folder, 'init', '-q');
  git(folder, 'config', 'user.name', 't');
  git(folder, 'config', 'user.email', 't@example.com');
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'first');
  const [sink] = openSinks('git:.', folder, join(folder, 'state'));
  await sink!.send([anchorAt(3), anchorAt(5)]);
  expect(git(folder, 'notes', '--ref=genesis-fleet-audit', 'show')).toContain('"position":5');
  expect(await sink!.lastSent(PROJECT)).toMatchObject({ position: 5 });
});

it('refuses an address that is not a valid sink', async () => {
  expect(() => openSinks('ftp://example.com', '/', '/')).toThrow('is not a valid sink');
});

it('starts a new line after an incomplete line', async () => {
  const path = join(await newFolder(), 'anchors.jsonl');
  await appendFile(path, 'half');
  await new FileSink(path).send([anchorAt(1)]);
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  expect(lines[0]).toBe('half');
  expect(JSON.parse(lines[1]!)).toMatchObject({ position: 1 });
});

it('keeps each checkpoint once in another store, and reads them back as anchors', async () => {
  const folder = await newFolder();
  const address = `store:file:${join(folder, 'other')}`;
  const [sink] = openSinks(address, folder, folder);
  expect(await sink!.lastSent(PROJECT)).toBe(null);
  await sink!.send([anchorAt(3), { ...anchorAt(9), project_id: 'blog' }]);
  await sink!.send([anchorAt(3), { ...anchorAt(2), incarnation: 2 }]);
  const [again] = openSinks(address, folder, folder);
  expect(await again!.lastSent(PROJECT)).toMatchObject({ incarnation: 2, position: 2 });
  const { store } = await openStoreUrl(address.slice('store:'.length), () => {});
  onTestFinished(() => store.close());
  const kept = await anchorsIn(store, [PROJECT.tenant_id]);
  expect(kept.map(({ project_id, position }) => `${project_id} ${position}`)).toEqual([
    'shop 3',
    'blog 9',
    'shop 2',
  ]);
});

it('a store sink fails while the other store cannot be opened, and accepts the checkpoints afterwards', async () => {
  const folder = await newFolder();
  const { store } = await openStoreUrl(`file:${join(folder, 'other')}`, () => {});
  const [sink] = openSinks(`store:file:${join(folder, 'other')}`, folder, folder);
  await expect(sink!.send([anchorAt(3)])).rejects.toThrow();
  await store.close();
  await sink!.send([anchorAt(3)]);
  expect(await sink!.lastSent(PROJECT)).toMatchObject({ position: 3 });
});
