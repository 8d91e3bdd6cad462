import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { swapOf, transactionOf } from '../conformance/fixture.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import type { MysqlOptions } from './options.js';
import { harnessOf, newProject } from './testing/harness.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('mysql', ({ url }) => {
  describe('the mysql store and its server', () => describeStore(optionsWithLongTimeouts(url)));
});

function describeStore(options: MysqlOptions): void {
  const { open } = harnessOf(options);

  it('distinguishes names that collations would fold or pad, and sorts them by code units', async () => {
    const projectKey = newProject();
    const store = await open();
    const subjects = [
      '~a',
      '~a ',
      '~A',
      '~ä',
      '~世',
      '~\ud83d\ude00',
      '~\ud83d',
      '~\ufffd',
      '~\ue000',
      '~\u0000',
    ];
    const swaps = subjects.map((subject) => swapOf(projectKey, subject, 0));
    await store.commit([transactionOf(projectKey, { swaps })]);
    const heads = await store.scanHeads(projectKey, { after: null, limit: 100 });
    expect(heads.map(({ subject }) => subject)).toEqual([...subjects].sort());
    expect(await store.heads(projectKey, subjects)).toEqual(swaps.map(({ head }) => head));
  });

  it('stores blobs of several parts, separately for each tenant', async () => {
    const { blobs } = await open();
    const bytes = new Uint8Array(2_500_000).map((_, index) => index % 251);
    for (const content of [bytes, new Uint8Array(0)]) {
      const sha256 = createHash('sha256').update(content).digest('hex');
      const { tenant_id } = newProject();
      expect(await blobs.get(tenant_id, sha256)).toBeNull();
      await blobs.put(tenant_id, sha256, content);
      await blobs.put(tenant_id, sha256, content);
      expect(await blobs.size(tenant_id, sha256)).toBe(content.byteLength);
      expect(Buffer.compare((await blobs.get(tenant_id, sha256)) as Uint8Array, content)).toBe(0);
      expect(await blobs.size(`${tenant_id}-2`, sha256)).toBeNull();
    }
  });
}
