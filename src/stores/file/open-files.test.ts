import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { swapOf, transactionOf } from '../conformance/fixture.js';
import { openFileStore } from './file-store.js';
import { nodeDisk } from './node-disk.js';
import { commitOne } from './testing.js';

it('keeps few logs open, and reads and writes all of them', async () => {
  let openCount = 0;
  let mostOpen = 0;
  const disk: typeof nodeDisk = {
    ...nodeDisk,
    openAppend: async (path, mode) => {
      const file = await nodeDisk.openAppend(path, mode);
      openCount += 1;
      mostOpen = Math.max(mostOpen, openCount);
      const close = async (): Promise<void> => {
        openCount -= 1;
        await file.close();
      };
      return { ...file, close };
    },
  };
  const root = await temporaryFolder();
  const store = await openFileStore({ root, disk, open_files_max: 3 });
  const projects = Array.from({ length: 20 }, (_, at) => `p-${at}`);
  const write = async (project_id: string, subject: string): Promise<void> => {
    const projectKey = { tenant_id: 't', project_id };
    await commitOne(store, transactionOf(projectKey, { swaps: [swapOf(projectKey, `~${subject}`, 0)] }));
  };
  for (const round of ['a', 'b']) {
    await Promise.all(projects.map((project) => write(project, `${round}1`)));
    for (const project of projects) await write(project, `${round}2`);
  }
  for (const project_id of projects) {
    const events = await store.events({ tenant_id: 't', project_id }, { after: 0, limit: 10 });
    expect(events.map(({ subject }) => subject)).toEqual(['~a1', '~a2', '~b1', '~b2']);
  }
  expect(openCount).toBeLessThanOrEqual(4);
  expect(mostOpen).toBeGreaterThan(0);
  await store.close();
  expect(openCount).toBe(0);
});
