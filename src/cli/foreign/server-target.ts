import { createHash } from 'node:crypto';
import type { ForeignTarget } from '../../coordinator/transfer/import-foreign.js';
import { partsOf } from '../../coordinator/transfer/imported-events.js';
import { BATCH_ITEMS_MAX } from '../../core/contract/claim-bodies.js';
import type { NewEvent } from '../../core/events/envelope.js';
import type { ProjectKey } from '../../stores/store.js';
import type { CommandContext } from '../context.js';
import { unwrapReply } from '../replies.js';

/** Maximum size of one request, and of one chunk. */
const REQUEST_SIZE_MAX = { events: BATCH_ITEMS_MAX, bytes: 384 * 1024 };

/**
 * A project of a server. Events that exceed one request are first uploaded as blobs, which changes nothing, and one request
 * then imports all of them.
 */
export async function serverTarget(
  context: CommandContext,
  { tenant_id: tenant, project_id: project }: ProjectKey,
  in_parts: boolean,
): Promise<ForeignTarget> {
  const genesis = await context.genesisAt({ url: context.url, tenant, project });
  const putBlob = async (sha256: string, bytes: Uint8Array): Promise<void> => {
    unwrapReply(await genesis.putBlob(sha256, bytes));
  };
  const put = async (events: readonly NewEvent[]) => {
    const sent = events.map(({ tenant_id: _, project_id: __, ...event }) => event);
    const [first = [], ...others] = partsOf(sent, REQUEST_SIZE_MAX);
    if (others.length === 0) return unwrapReply(await genesis.importEvents(first, { in_parts }));
    const chunks: string[] = [];
    for (const part of [first, ...others]) {
      const bytes = Buffer.from(JSON.stringify(part));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await putBlob(sha256, bytes);
      chunks.push(sha256);
    }
    return unwrapReply(await genesis.importEvents([], { chunks, in_parts }));
  };
  return { put, putBlob };
}
