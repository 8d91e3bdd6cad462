import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { Coordinator } from '../../coordinator/index.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { childProgram } from '../testing/child-program.js';
import { promoteAccepted } from './promote-accepted.js';
import { DraftsHarness, EDGE } from './testing/drafts-harness.js';
import { KEY } from './testing/project-folder.js';

const promoter = childProgram(join(import.meta.dirname, 'testing/promoter.child.ts'));
const FILES = { a: 'a', 'b/b': 'b' };

/** A project whose log has two accepted files that are not promoted yet. */
async function openWithAccepted(): Promise<DraftsHarness> {
  const harness = await DraftsHarness.open();
  const store = await openFileStore({ root: harness.workspacePath('store') });
  const coordinator = await Coordinator.open({ store, blobs: harness.blobs });
  unwrap(await coordinator.plans.put(KEY, planOf('A-001-x')));
  const result = { task_id: EDGE, agent_id: 'alpha', session_id: 's1' };
  const { claim } = unwrap(await coordinator.claims.claimTask(KEY, result));
  for (const [path, text] of Object.entries(FILES)) await harness.writeDraft(path, text);
  const handle = { task_id: EDGE, session_id: 's1', generation: 1, claim_id: claim?.id };
  const submitted = await coordinator.holder.submitResult(KEY, {
    ...handle,
    result_data: await harness.collectValid(),
  });
  expect(submitted).toMatchObject({ reason: 'ACCEPTED' });
  coordinator.close();
  await store.close();
  return harness;
}

/** Kills a promoter after `steps` steps. Returns the step at which it was killed, or null if it ended before. */
async function killAfter(harness: DraftsHarness, steps: number): Promise<string | null> {
  const { process, lines, ended } = promoter(harness.root);
  let stepCount = 0;
  let lastStep: string | null = null;
  for await (const line of lines) {
    lastStep = line;
    stepCount += 1;
    if (stepCount > steps) break;
    process.stdin.write('\n');
  }
  process.kill('SIGKILL');
  await ended;
  return stepCount > steps ? lastStep : null;
}

test('finishes a promotion that was killed at any step', async () => {
  const killedSteps: string[] = [];
  for (let steps = 0; ; steps += 1) {
    const harness = await openWithAccepted();
    const at = await killAfter(harness, steps);
    if (at !== null) killedSteps.push(at);
    const store = await openFileStore({ root: harness.workspacePath('store') });
    onTestFinished(() => store.close());
    const log = { store, blobs: harness.blobs, key: KEY };
    const { conflicts, failures } = await promoteAccepted(harness, log);
    expect({ at, conflicts, failures }).toEqual({ at, conflicts: [], failures: [] });
    for (const [path, text] of Object.entries(FILES)) expect(await harness.readShared(path)).toBe(text);
    expect(await promoteAccepted(harness, log)).toMatchObject({ written: [], unchanged: [] });
    await store.close();
    if (at === null) break;
  }
  expect(killedSteps).toEqual([
    'read ',
    ...['fetched a', 'written a', 'placed a', 'fetched b/b', 'written b/b', 'placed b/b'],
    'synced ',
    'marked ',
  ]);
});
