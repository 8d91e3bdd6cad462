import { appendFile, cp, readFile, rm } from 'node:fs/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { type Store, StoreBroken, StoreUnavailable, StoreUncertain } from '../store.js';
import { onSmallDisk } from '../testing/small-disk.js';
import { openFileStore } from './file-store.js';
import { ProjectLog } from './project-log.js';
import {
  activeFile,
  allEvents,
  commitOne,
  diskError,
  faultyDisk,
  type InjectedDiskFaults,
  KEY,
  looseEventTransaction,
  newSubjectTransaction,
} from './testing.js';

const positionsOf = async (store: Store) => (await allEvents(store)).map((event) => event.position);

/** Commits until the store refuses, and returns the confirmed subjects. */
async function commitUntilRefused(
  store: Store,
  name: string,
  roundsMax: number,
): Promise<{ confirmed: string[]; error: unknown }> {
  const confirmed: string[] = [];
  for (let round = 0; round < roundsMax; round += 1) {
    const subject = `${name}-${round}`;
    try {
      await commitOne(store, newSubjectTransaction(subject, 2));
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

describe('a file store', () => {
  it('reports a full disk, keeps confirmed commits, and continues when there is space again', async () => {
    const root = await temporaryFolder();
    let spaceBytes = 5000;
    const disk = faultyDisk({
      write: async (path, bytes, write) => {
        if (!path.endsWith('events.jsonl')) return write(bytes);
        if (spaceBytes === 0) throw diskError('ENOSPC');
        const writtenBytes = Math.min(spaceBytes, bytes.length);
        spaceBytes -= writtenBytes;
        return write(bytes.subarray(0, writtenBytes));
      },
    });
    const store = await openFileStore({ root, disk });
    const { confirmed, error } = await commitUntilRefused(store, 'a', 100);
    expect(confirmed.length).toBeGreaterThan(2);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect((error as Error).message).toMatch(/disk is full.*Nothing was written.*Free some space/);
    expect(await subjectsOf(store)).toEqual(confirmed);
    await expect(commitOne(store, newSubjectTransaction('none'))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await store.heads(KEY, ['~none'])).toEqual([null]);

    spaceBytes = 1_000_000;
    const laterCommits = await commitUntilRefused(store, 'b', 5);
    expect(laterCommits.error).toBeNull();
    expect(await subjectsOf(store)).toEqual([...confirmed, ...laterCommits.confirmed]);
    await store.close();
    const reopened = await openFileStore({ root });
    expect(await subjectsOf(reopened)).toEqual([...confirmed, ...laterCommits.confirmed]);
    await reopened.close();
  });

  it('releases the permits of a transaction that could not be written', async () => {
    const faults: InjectedDiskFaults = {};
    const store = await openFileStore({ root: await temporaryFolder(), disk: faultyDisk(faults) });
    const permit = (member: string) => ({ scope: 's', member, until_ms: Number.POSITIVE_INFINITY });
    await commitOne(store, newSubjectTransaction('a', 1, { permits: [permit('a')] }));
    faults.write = () => Promise.reject(diskError('EIO'));
    await expect(commitOne(store, newSubjectTransaction('b', 1, { permits: [permit('b')] }))).rejects.toThrow(
      /Nothing was written/,
    );
    delete faults.write;
    expect(await store.countPermits(KEY.tenant_id, 's')).toBe(1);
    await store.close();
  });

  it('rejects the commits that wait behind a failed write', async () => {
    const faults: InjectedDiskFaults = {};
    const store = await openFileStore({ root: await temporaryFolder(), disk: faultyDisk(faults) });
    await commitOne(store, looseEventTransaction('first'));
    let behind: Promise<unknown> = Promise.resolve();
    faults.write = async () => {
      behind = Promise.allSettled([commitOne(store, looseEventTransaction('behind'))]);
      throw diskError('EIO');
    };
    await expect(commitOne(store, looseEventTransaction('failed'))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await behind).toMatchObject([{ status: 'rejected' }]);
    delete faults.write;
    expect(await positionsOf(store)).toEqual([1]);
    expect(await commitOne(store, looseEventTransaction('behind'))).toMatchObject({
      kind: 'committed',
      positions: [2],
    });
    await store.close();
  });

  it('is broken after a failed sync: it rejects every call until it is reopened from the disk', async () => {
    const root = await temporaryFolder();
    const faults: InjectedDiskFaults = {};
    const disk = faultyDisk(faults);
    const store = await openFileStore({ root, disk });
    await commitOne(store, looseEventTransaction('kept'));
    let syncs = 0;
    faults.sync = async () => {
      syncs += 1;
      throw diskError('EIO');
    };
    const commits = [
      commitOne(store, looseEventTransaction('lost')),
      commitOne(store, looseEventTransaction('lost too')),
      allEvents(store),
    ];
    for (const { status, reason } of (await Promise.allSettled(commits)) as PromiseRejectedResult[]) {
      expect(status).toBe('rejected');
      expect(reason).toBeInstanceOf(StoreBroken);
    }
    delete faults.sync;
    expect(syncs).toBe(1);
    await expect(commitOne(store, looseEventTransaction('later'))).rejects.toBeInstanceOf(StoreBroken);
    await expect(store.project(KEY)).rejects.toBeInstanceOf(StoreBroken);
    expect((await store.broken).message).toMatch(/could not be made durable/);
    await store.close();
    const reopened = await openFileStore({ root });
    expect((await allEvents(reopened))[0]?.event_id).toBe('kept');
    await reopened.close();
  });

  it('is broken when a failed write cannot be undone', async () => {
    const faults: InjectedDiskFaults = {};
    const store = await openFileStore({ root: await temporaryFolder(), disk: faultyDisk(faults) });
    await commitOne(store, looseEventTransaction('kept'));
    faults.write = () => Promise.reject(diskError('EIO'));
    faults.truncate = () => {
      throw diskError('EIO');
    };
    await expect(commitOne(store, looseEventTransaction('lost'))).rejects.toBeInstanceOf(StoreBroken);
    await store.close();
  });

  it('refuses a commit after another process has written to its log', async () => {
    const root = await temporaryFolder();
    const store = await openFileStore({ root });
    await commitOne(store, looseEventTransaction('mine'));
    const copy = await temporaryFolder();
    await cp(root, copy, { recursive: true });
    const before = (await readFile(activeFile(copy))).length;
    const second = await openFileStore({ root: copy });
    await commitOne(second, looseEventTransaction('theirs'));
    await second.close();
    await appendFile(activeFile(root), (await readFile(activeFile(copy))).subarray(before));
    await expect(commitOne(store, looseEventTransaction('mine too'))).rejects.toThrow(
      /another process writes to this log/,
    );
    await store.close();
  });

  it('reports nothing before it is durable: commits, refusals and reads wait for the same sync', async () => {
    const faults: InjectedDiskFaults = {};
    const store = await openFileStore({ root: await temporaryFolder(), disk: faultyDisk(faults) });
    await commitOne(store, looseEventTransaction('first'));
    const done: string[] = [];
    let openGate = () => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    const reached = new Promise<void>((resolve) => {
      faults.sync = async (_, sync) => {
        resolve();
        await gate;
        await sync();
      };
    });
    const record = (what: string) => () => done.push(what);
    const commit = commitOne(store, newSubjectTransaction('x')).then(record('commit'));
    await reached;
    const otherCalls = [
      commitOne(store, newSubjectTransaction('x')).then((outcome) => done.push(outcome.kind)),
      store.commit([]).then(record('nothing')),
      store.heads(KEY, ['~x']).then(record('heads')),
      store.scanHeads(KEY, { after: null, limit: 9 }).then(record('scan')),
      store.project(KEY).then(record('project')),
      store.projects(KEY.tenant_id).then(record('projects')),
      store.countPermits(KEY.tenant_id, 's').then(record('permits')),
      allEvents(store).then((events) => done.push(`${events.length} events`)),
    ];
    // Writing a file takes longer than any call that does not wait for the disk.
    await store.now();
    await appendFile(`${await temporaryFolder()}/wait`, 'x');
    expect(done).toEqual(['nothing']);
    openGate();
    await Promise.all([commit, ...otherCalls]);
    expect(done).toContain('conflict');
    expect(done).toContain('2 events');
    await store.close();
  });

  it('makes all waiting commits durable with one sync', async () => {
    let syncs = 0;
    const faults: InjectedDiskFaults = {};
    const store = await openFileStore({ root: await temporaryFolder(), disk: faultyDisk(faults) });
    await commitOne(store, looseEventTransaction('first'));
    faults.sync = (_, sync) => {
      syncs += 1;
      return sync();
    };
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => commitOne(store, newSubjectTransaction(`s${index}`))),
    );
    expect(syncs).toBe(1);
    expect(await positionsOf(store)).toHaveLength(101);
    await store.close();
  });

  it('names the folder that it cannot open, and the reason', async () => {
    const folder = await temporaryFolder();
    await appendFile(`${folder}/a-file`, 'x');
    const opening = openFileStore({ root: `${folder}/a-file/store` });
    await expect(opening).rejects.toThrow(StoreUnavailable);
    await expect(opening).rejects.toThrow(/a-file\/store cannot be opened: .*ENOTDIR/);
  });

  it('warns about a log from the far future, and does not follow its time, which would end every lease', async () => {
    const root = await temporaryFolder();
    const clock = (wallMs: number) => ({ wallMs: () => wallMs, monotonicMs: () => 0 });
    const nowMs = Date.parse('2026-01-04T06:00:00.000Z');
    const tenYearsMs = 10 * 365 * 24 * 3600 * 1000;
    const ahead = await openFileStore({ root, clock: clock(nowMs + tenYearsMs) });
    await commitOne(ahead, newSubjectTransaction('a'));
    await ahead.close();
    const warnings: string[] = [];
    const store = await openFileStore({
      root,
      clock: clock(nowMs),
      onWarning: (text) => warnings.push(text),
    });
    expect(await positionsOf(store)).toEqual([1]);
    expect(await store.now()).toBe(nowMs);
    expect(warnings).toEqual([expect.stringContaining('which is in the future')]);
    await store.close();
  });
});

await onSmallDisk('a file store on a full disk', 1, (disk) => {
  afterAll(() => disk.stop());

  it('is unavailable on a real full disk, and continues when there is space again', async () => {
    const root = disk.folder;
    await appendFile(`${root}/ballast`, Buffer.alloc(900_000));
    const store = await openFileStore({ root });
    const { confirmed, error } = await commitUntilRefused(store, 'a', 10_000);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(await subjectsOf(store)).toEqual(confirmed);
    await rm(`${root}/ballast`);
    const laterCommits = await commitUntilRefused(store, 'b', 10);
    expect(laterCommits.error).toBeNull();
    await store.close();
    const reopened = await openFileStore({ root });
    expect(await subjectsOf(reopened)).toEqual([...confirmed, ...laterCommits.confirmed]);
    await reopened.close();
  });
});

it('a commit that is refused after its first transaction was applied is reported as uncertain', async () => {
  const store = await openFileStore({ root: await temporaryFolder() });
  await commitOne(store, newSubjectTransaction('a', 1));
  const { apply } = ProjectLog.prototype;
  const applying = vi.spyOn(ProjectLog.prototype, 'apply');
  applying.mockImplementationOnce(function (this: ProjectLog, ...args) {
    return apply.apply(this, args);
  });
  applying.mockImplementationOnce(() => {
    throw new StoreUnavailable('Too many commits are waiting for the disk.');
  });
  const transactions = [newSubjectTransaction('b', 1), newSubjectTransaction('c', 1)];
  await expect(store.commit(transactions)).rejects.toBeInstanceOf(StoreUncertain);
  applying.mockRestore();
  expect(await subjectsOf(store)).toContain('~b');
  await store.close();
});
