import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { sha256Hex } from '../runtime/identity.js';

const A = 'A-001-core';
const KIB_64 = 64 * 1024;

forEachStore('results', (open) => {
  async function openWithClaim(limits = {}) {
    const harness = await open({ limits });
    await harness.plan(planOf(A));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A);
    return { harness, coordinator: harness.coordinator, queries: harness.coordinator.queries, alpha };
  }
  const textOf = (bytes: number) => 'x'.repeat(bytes - 2);

  test('of up to 64 KiB are stored inside the event', async () => {
    const { harness, alpha, queries } = await openWithClaim();
    expect((await alpha.submit(A, textOf(KIB_64))).accepted).toBe(true);
    const payload = (await harness.events()).at(-1)?.payload;
    expect(payload).toMatchObject({ result_data: textOf(KIB_64), result_size_bytes: KIB_64 });
    expect(payload).not.toHaveProperty('blob_sha256');
    const { results } = unwrap(await queries.listResults(PROJECT_KEY, A));
    expect(results).toMatchObject([{ result_data: textOf(KIB_64), blob_sha256: null, accepted: true }]);
  });

  // req: ITR-016
  test('of more than 64 KiB are stored as a blob, and read back whole', async () => {
    const { harness, alpha } = await openWithClaim();
    const data = { text: textOf(KIB_64) };
    expect((await alpha.submit(A, data)).accepted).toBe(true);
    const payload = (await harness.events()).at(-1)?.payload;
    expect(payload).not.toHaveProperty('result_data');
    expect(payload?.blob_sha256).toBe(sha256Hex(JSON.stringify(data)));
    await harness.restart();
    const { queries } = harness.coordinator;
    const id = unwrap(await queries.listResults(PROJECT_KEY, A)).results[0]?.id ?? '';
    expect(unwrap(await queries.getResult(PROJECT_KEY, A, id)).result_data).toEqual(data);
    const bytes = unwrap(await queries.getBlob('acme', String(payload?.blob_sha256)));
    expect(Buffer.from(bytes).toString()).toBe(JSON.stringify(data));
  });

  test('can be uploaded first and submitted by their hash', async () => {
    const { coordinator, alpha } = await openWithClaim();
    const bytes = Buffer.from('not json');
    const blob_sha256 = sha256Hex('not json');
    const put = await coordinator.blobs.putBlob('acme', blob_sha256, bytes);
    expect(put).toEqual({ sha256: blob_sha256, size_bytes: 8 });
    const { session_id, generation } = alpha.handle(A);
    const submitted = await coordinator.holder.submitResult(PROJECT_KEY, {
      task_id: A,
      session_id,
      generation,
      blob_sha256,
    });
    expect(submitted).toMatchObject({
      accepted: true,
      work_product_ref: `wp-${A}-gen1-${blob_sha256.slice(0, 12)}`,
    });
  });

  test('keep the metadata of their submission, also when they are parked and adopted', async () => {
    const { coordinator, queries, alpha } = await openWithClaim();
    const { session_id, generation } = alpha.handle(A);
    const expected = { expected_generation: generation, reason: 'because' };
    await coordinator.decisions.operate(PROJECT_KEY, A, 'force_release', expected, personCaller('ops'));
    const metadata = { git: { branch: 'work', head: 'c0ffee' } };
    const late = { task_id: A, session_id, generation, result_data: 1, metadata };
    const { parked } = unwrap(await coordinator.holder.submitResult(PROJECT_KEY, late));
    await coordinator.decisions.operate(
      PROJECT_KEY,
      A,
      'adopt',
      { ...expected, result_id: parked ?? '' },
      personCaller('ops'),
    );
    const { results } = unwrap(await queries.listResults(PROJECT_KEY, A));
    expect(results).toMatchObject([
      { accepted: false, parked: true, metadata },
      { accepted: true, metadata },
    ]);
    const tooLarge = { ...late, metadata: { text: 'x'.repeat(4096) } };
    expect(await coordinator.holder.submitResult(PROJECT_KEY, tooLarge)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
  });

  test('that name a missing blob, or a blob of another tenant, are refused, and the claim continues', async () => {
    const { harness, coordinator, alpha } = await openWithClaim();
    const bytes = Buffer.from('theirs');
    unwrap(await coordinator.blobs.putBlob('other', sha256Hex('theirs'), bytes));
    const position = await harness.position();
    const { session_id, generation } = alpha.handle(A);
    const body = { task_id: A, session_id, generation, blob_sha256: sha256Hex('theirs') };
    expect(await coordinator.holder.submitResult(PROJECT_KEY, body)).toMatchObject({
      problem: 'BLOB_MISSING',
    });
    expect(await harness.position()).toBe(position);
    expect((await alpha.submit(A)).accepted).toBe(true);
  });

  test('a blob is stored only under its own hash and within the size limit of the tenant', async () => {
    const { coordinator, queries } = await openWithClaim({ max_result_size_bytes: 10 });
    const bytes = Buffer.from('0123456789');
    const wrong = await coordinator.blobs.putBlob('acme', sha256Hex('other'), bytes);
    expect(wrong).toMatchObject({ problem: 'INVALID_REQUEST' });
    const large = Buffer.from('0123456789a');
    expect(await coordinator.blobs.putBlob('acme', sha256Hex('0123456789a'), large)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
    expect(await queries.getBlob('acme', sha256Hex('other'))).toMatchObject({ problem: 'NOT_FOUND' });
    expect(unwrap(await coordinator.blobs.putBlob('acme', sha256Hex('0123456789'), bytes)).size_bytes).toBe(
      10,
    );
  });

  test('that are refused are kept with their data and can be read', async () => {
    const { harness, queries, alpha } = await openWithClaim();
    harness.advance(301);
    await new HarnessAgent(harness, 'beta', 's2').claim(A);
    const { parked } = await alpha.submit(A, { draft: 1 });
    expect(unwrap(await queries.getResult(PROJECT_KEY, A, parked ?? ''))).toMatchObject({
      id: parked,
      generation: 1,
      agent_id: 'alpha',
      result_data: { draft: 1 },
      accepted: false,
      rejection_reason: 'STALE_GENERATION',
      parked: true,
    });
    expect(await queries.getResult(PROJECT_KEY, A, 'res_none')).toMatchObject({ problem: 'NOT_FOUND' });
  });
});
