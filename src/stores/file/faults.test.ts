import { appendFile, rm } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { type Store, StoreBroken, StoreUnavailable } from '../store.js';
import { onSmallDisk } from '../testing/small-disk.js';
import { openFileStore } from './file-store.js';
import {
  activeFile,
  allEvents,
  beginning,
  commitOne,
  diskError,
  type Faults,
  faultyDisk,
  freshFolder,
  KEY,
  remark,
} from './testing.js';

const positionsOf = async (store: Store) => (await allEvents(store)).map((event) => event.position);

/** Commits until the store refuses, and returns the subjects that were confirmed. */
async function fill(
  store: Store,
  name: string,
  rounds_max: number,
): Promise<{ confirmed: string[]; error: unknown }> {
  const confirmed: string[] = [];
  for (let round = 0; round < rounds_max; round += 1) {
    const subject = `${name}-${round}`;
    try {
      await commitOne(store, beginning(subject, 2));
    } catch (error) {
      return { confirmed, error };
    }
    confirmed.push(`~${subject}`);
  }
  return { confirmed, error: null };
}

const subjectsOf = async (store: Store) => [
  ...new Set((await allEvents(store)).map((event) => event.subject)),
];

it('says that the disk is full, keeps what was confirmed, and goes on when there is space again', async () => {
  const root = await freshFolder();
  let space = 5000;
  const disk = faultyDisk({
    write: async (path, bytes, write) => {
      if (!path.endsWith('events.jsonl')) return write(bytes);
      if (space === 0) throw diskError('ENOSPC');
      const taken = Math.min(space, bytes.length);
      space -= taken;
      return write(bytes.subarray(0, taken));
    },
  });
  const store = await openFileStore({ root, disk });
  const { confirmed, error } = await fill(store, 'a', 100);
  expect(confirmed.length).toBeGreaterThan(2);
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect((error as Error).message).toMatch(/disk is full.*Nothing was written.*Free some space/);
  expect(await subjectsOf(store)).toEqual(confirmed);
  await expect(commitOne(store, beginning('none'))).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await store.heads(KEY, ['~none'])).toEqual([null]);

  space = 1_000_000;
  const more = await fill(store, 'b', 5);
  expect(more.error).toBeNull();
  expect(await subjectsOf(store)).toEqual([...confirmed, ...more.confirmed]);
  await store.close();
  const again = await openFileStore({ root });
  expect(await subjectsOf(again)).toEqual([...confirmed, ...more.confirmed]);
  await again.close();
});

it('frees the places of a unit that could not be written', async () => {
  const faults: Faults = {};
  const store = await openFileStore({ root: await freshFolder(), disk: faultyDisk(faults) });
  const slot = (member: string) => ({ scope: 's', member, until_ms: Number.POSITIVE_INFINITY });
  await commitOne(store, beginning('a', 1, { slots: [slot('a')] }));
  faults.write = () => Promise.reject(diskError('EIO'));
  await expect(commitOne(store, beginning('b', 1, { slots: [slot('b')] }))).rejects.toThrow(
    /Nothing was written/,
  );
  delete faults.write;
  expect(await store.occupancy(KEY.tenant_id, 's')).toBe(1);
  await store.close();
});

it('refuses everybody who waits behind a write that failed', async () => {
  const faults: Faults = {};
  const store = await openFileStore({ root: await freshFolder(), disk: faultyDisk(faults) });
  await commitOne(store, remark('first'));
  let behind: Promise<unknown> = Promise.resolve();
  faults.write = async () => {
    behind = Promise.allSettled([commitOne(store, remark('behind'))]);
    throw diskError('EIO');
  };
  await expect(commitOne(store, remark('failed'))).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await behind).toMatchObject([{ status: 'rejected' }]);
  delete faults.write;
  expect(await positionsOf(store)).toEqual([1]);
  expect(await commitOne(store, remark('behind'))).toMatchObject({ kind: 'committed', positions: [2] });
  await store.close();
});

await onSmallDisk('a file store on a full disk', 1, (disk) => {
  afterAll(() => disk.stop());

  it('runs full on a real small disk, and goes on when there is space again', async () => {
    const root = disk.folder;
    await appendFile(`${root}/ballast`, Buffer.alloc(900_000));
    const store = await openFileStore({ root });
    const { confirmed, error } = await fill(store, 'a', 10_000);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(await subjectsOf(store)).toEqual(confirmed);
    await rm(`${root}/ballast`);
    const more = await fill(store, 'b', 10);
    expect(more.error).toBeNull();
    await store.close();
    const again = await openFileStore({ root });
    expect(await subjectsOf(again)).toEqual([...confirmed, ...more.confirmed]);
    await again.close();
  });
});

it('is finished after a failed sync: nothing waits on, nothing is told, and a new start reads the disk', async () => {
  const root = await freshFolder();
  const faults: Faults = {};
  const disk = faultyDisk(faults);
  const store = await openFileStore({ root, disk });
  await commitOne(store, remark('kept'));
  let syncs = 0;
  faults.sync = async () => {
    syncs += 1;
    throw diskError('EIO');
  };
  const commits = [commitOne(store, remark('lost')), commitOne(store, remark('lost too')), allEvents(store)];
  for (const { status, reason } of (await Promise.allSettled(commits)) as PromiseRejectedResult[]) {
    expect(status).toBe('rejected');
    expect(reason).toBeInstanceOf(StoreBroken);
  }
  delete faults.sync;
  expect(syncs).toBe(1);
  await expect(commitOne(store, remark('later'))).rejects.toBeInstanceOf(StoreBroken);
  await expect(store.project(KEY)).rejects.toBeInstanceOf(StoreBroken);
  expect((await store.finished).message).toMatch(/could not be made durable/);
  await store.close();
  const again = await openFileStore({ root });
  expect((await allEvents(again))[0]?.event_id).toBe('kept');
  await again.close();
});

it('is finished when a failed write cannot be taken back', async () => {
  const faults: Faults = {};
  const store = await openFileStore({ root: await freshFolder(), disk: faultyDisk(faults) });
  await commitOne(store, remark('kept'));
  faults.write = () => Promise.reject(diskError('EIO'));
  faults.truncate = () => {
    throw diskError('EIO');
  };
  await expect(commitOne(store, remark('lost'))).rejects.toBeInstanceOf(StoreBroken);
  await store.close();
});

it('stops when somebody else writes to its log', async () => {
  const root = await freshFolder();
  const store = await openFileStore({ root });
  await commitOne(store, remark('mine'));
  await appendFile(activeFile(root), 'theirs\n');
  await expect(commitOne(store, remark('mine too'))).rejects.toThrow(/somebody else writes to this log/);
  await store.close();
});

it('tells nothing before it is durable: commits, refusals and reads wait for the same sync', async () => {
  const faults: Faults = {};
  const store = await openFileStore({ root: await freshFolder(), disk: faultyDisk(faults) });
  await commitOne(store, remark('first'));
  const told: string[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    faults.sync = async (_, sync) => {
      resolve();
      await gate;
      await sync();
    };
  });
  const note = (what: string) => () => told.push(what);
  const commit = commitOne(store, beginning('x')).then(note('commit'));
  await reached;
  const rest = [
    commitOne(store, beginning('x')).then((outcome) => told.push(outcome.kind)),
    store.commit([]).then(note('nothing')),
    store.heads(KEY, ['~x']).then(note('heads')),
    store.scanHeads(KEY, { after: null, limit: 9 }).then(note('scan')),
    store.project(KEY).then(note('project')),
    store.projects(KEY.tenant_id).then(note('projects')),
    store.occupancy(KEY.tenant_id, 's').then(note('occupancy')),
    allEvents(store).then((events) => told.push(`${events.length} events`)),
  ];
  // Reading a file takes longer than anything that would not wait.
  await store.now();
  await appendFile(`${await freshFolder()}/wait`, 'x');
  expect(told).toEqual(['nothing']);
  open();
  await Promise.all([commit, ...rest]);
  expect(told).toContain('conflict');
  expect(told).toContain('2 events');
  await store.close();
});

it('makes everything that waits durable with one sync', async () => {
  let syncs = 0;
  const faults: Faults = {};
  const store = await openFileStore({ root: await freshFolder(), disk: faultyDisk(faults) });
  await commitOne(store, remark('first'));
  faults.sync = (_, sync) => {
    syncs += 1;
    return sync();
  };
  await Promise.all(Array.from({ length: 100 }, (_, index) => commitOne(store, beginning(`s${index}`))));
  expect(syncs).toBe(1);
  expect(await positionsOf(store)).toHaveLength(101);
  await store.close();
});

it('says which folder it cannot open, and why', async () => {
  const folder = await freshFolder();
  await appendFile(`${folder}/a-file`, 'x');
  const opening = openFileStore({ root: `${folder}/a-file/store` });
  await expect(opening).rejects.toThrow(StoreUnavailable);
  await expect(opening).rejects.toThrow(/a-file\/store cannot be opened: .*ENOTDIR/);
});
