import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;

forEachStore('the briefing', (open) => {
  async function openWithResult(task: Record<string, unknown> = {}) {
    const harness = await open();
    await harness.plan(planOf(A, { id: B, depends_on: [A], description: 'the data', ...task }));
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    const { work_product_ref } = await alpha.claim(A).then(() => alpha.submit(A));
    return { harness, alpha, beta, work_product_ref };
  }

  test('contains the description, the dependencies and the handle', async () => {
    const { alpha, work_product_ref } = await openWithResult({ instructions: 'use postgres' });
    const { briefing, claim } = await alpha.next();
    expect(briefing).toEqual({
      description: 'the data',
      instructions: 'use postgres',
      dependencies: [{ task_id: A, work_product_ref, result: { by: 'alpha' } }],
      notes: [],
      predecessors: [],
      handle: { task_id: B, generation: 1, claim_id: claim?.id, session_id: 's1' },
    });
    expect((await alpha.renew(B)).success).toBe(true);
  });

  test('lists earlier attempts with their outcomes, parked results and notes', async () => {
    const { harness, alpha, beta } = await openWithResult();
    await alpha.claim(B);
    expect(await alpha.notes(B, 'the schema is in v2')).toEqual({ success: true, reason: 'NOTED' });
    harness.advance(301);
    await beta.claim(B);
    const { parked } = await alpha.submit(B, 'half of it');
    await beta.release(B, { reason: 'ERROR', message: 'no idea' });
    harness.advance(10);
    const { briefing } = await beta.next();
    expect(briefing?.predecessors).toEqual([
      { generation: 1, agent_id: 'alpha', outcome: 'EXPIRED', parked },
      { generation: 2, agent_id: 'beta', outcome: 'ERROR', parked: null, message: 'no idea' },
    ]);
    expect(parked).toMatch(/^res_/);
    expect(briefing?.notes).toEqual([
      { at: '2026-01-04T06:00:00.000Z', agent_id: 'alpha', generation: 1, text: 'the schema is in v2' },
    ]);
  });

  test('of a subtask describes the subtask', async () => {
    const harness = await open();
    await harness.plan(planOf({ id: A, description: 'all', subtasks: [{ description: 'the first half' }] }));
    const { claim, briefing } = await new HarnessAgent(harness, 'alpha', 's1').next();
    expect([claim?.task_id, briefing?.description]).toEqual([`${A}::1`, 'the first half']);
  });

  test('is at most 8 KiB, and keeps the latest attempt', async () => {
    const { alpha } = await openWithResult({
      instructions: '€'.repeat(32_000),
      description: 'ä'.repeat(2_000),
    });
    await alpha.claim(B);
    for (let turn = 0; turn < 10; turn += 1) await alpha.notes(B, `${turn} ${'n'.repeat(4_000)}`);
    await alpha.release(B);
    const { briefing } = await alpha.next();
    expect(Buffer.byteLength(JSON.stringify(briefing))).toBeLessThanOrEqual(8 * 1024);
    expect(briefing?.handle.generation).toBe(2);
    expect(briefing?.predecessors).toHaveLength(1);
  });

  test('keeps the latest notes when not all of them fit', async () => {
    const { alpha } = await openWithResult();
    await alpha.claim(B);
    for (let turn = 0; turn < 5; turn += 1) await alpha.notes(B, `${turn} ${'n'.repeat(3_000)}`);
    await alpha.release(B);
    const { briefing } = await alpha.next();
    expect(briefing?.notes.map((note) => note.text[0])).toEqual(['3', '4']);
  });

  test('accepts notes from the current holder only', async () => {
    const { harness, alpha, beta } = await openWithResult();
    await alpha.claim(B);
    const zombie = { ...alpha.handle(B) };
    harness.advance(301);
    await beta.claim(B);
    const position = await harness.position();
    expect(await alpha.notes(B, 'still here')).toMatchObject({
      success: false,
      reason: 'GENERATION_MISMATCH',
    });
    const forged = { ...zombie, generation: 2, text: 'it is me' };
    expect(await harness.coordinator.holder.note(PROJECT_KEY, forged)).toMatchObject({
      reason: 'SESSION_MISMATCH',
    });
    expect(await harness.position()).toBe(position);
    await beta.notes(B, 'mine');
    await beta.notes(B, 'mine');
    expect(
      unwrap(await harness.coordinator.feed.page(PROJECT_KEY, { type: 'NOTE_ADDED' })).events,
    ).toHaveLength(1);
    await beta.submit(B);
    expect(await beta.notes(B, 'too late')).toMatchObject({ reason: 'NO_CLAIM' });
  });
});
