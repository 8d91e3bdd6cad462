import { join } from 'node:path';
import type { McpHandle } from '../../server/mcp/handle.js';
import type { Io } from '../io.js';
import { JsonRecordFolder, recordName } from '../state/json-record-folder.js';
import { userFolder } from '../state/user-folder.js';

export interface HeldHandle {
  readonly handle: McpHandle;
  /** Earliest time of the next renewal. The hook runs on every tool use, which is too often to renew each time. */
  readonly renew_at_ms: number;
}

/**
 * The handles that one client conversation holds. Stored per conversation and not per folder: a conversation must not
 * renew the claims of another conversation in its folder, which may have died.
 */
export class HookState {
  private readonly handles: JsonRecordFolder<HeldHandle>;
  private readonly flags: JsonRecordFolder<{ compacted: true }>;

  constructor(io: Pick<Io, 'env'>, conversation: string) {
    const folder = join(userFolder(io), 'conversations', recordName(conversation));
    this.handles = new JsonRecordFolder(join(folder, 'handles'));
    this.flags = new JsonRecordFolder(folder);
  }

  heldHandles(): Promise<HeldHandle[]> {
    return this.handles.all();
  }

  saveHandle(held: HeldHandle): Promise<void> {
    return this.handles.put(handleName(held.handle), held);
  }

  removeHandle(handle: McpHandle): Promise<void> {
    return this.handles.remove(handleName(handle));
  }

  /** Records that the client is about to compact its context, so that held handles are announced again. */
  markCompacted(): Promise<void> {
    return this.flags.put(COMPACTED, { compacted: true });
  }

  async consumeCompacted(): Promise<boolean> {
    const flag = await this.flags.get(COMPACTED);
    if (flag !== null) await this.flags.remove(COMPACTED);
    return flag !== null;
  }
}

const COMPACTED = 'compacted';

const handleName = ({ task_id, generation, claim_id }: McpHandle): string =>
  recordName(task_id, generation, claim_id);
