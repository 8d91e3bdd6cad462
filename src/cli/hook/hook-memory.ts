import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Handle } from '../../server/mcp/fleet.js';
import type { Io } from '../io.js';
import { Drawer } from '../memory/folder.js';
import { userFolder } from '../user-folder.js';

export interface Held {
  readonly handle: Handle;
  /** Not before: a hook runs on every use of a tool. */
  readonly renew_at_ms: number;
}

/**
 * The handles that one conversation of a client holds. By conversation and not by folder: where two work side by
 * side, neither may keep the claims of the other alive when that has died.
 */
export class HookMemory {
  private readonly handles: Drawer<Held>;
  private readonly marks: Drawer<{ compacted: true }>;

  constructor(io: Io, conversation: string) {
    const folder = join(userFolder(io), 'conversations', digestOf(conversation));
    this.handles = new Drawer(join(folder, 'handles'));
    this.marks = new Drawer(folder);
  }

  held(): Promise<Held[]> {
    return this.handles.all();
  }

  keep(held: Held): Promise<void> {
    return this.handles.put(nameOf(held.handle), held);
  }

  forget(handle: Handle): Promise<void> {
    return this.handles.remove(nameOf(handle));
  }

  /** The client is about to forget: what it holds must be told again. */
  markCompacted(): Promise<void> {
    return this.marks.put(COMPACTED, { compacted: true });
  }

  async takeCompacted(): Promise<boolean> {
    const mark = await this.marks.get(COMPACTED);
    if (mark !== null) await this.marks.remove(COMPACTED);
    return mark !== null;
  }
}

const COMPACTED = 'compacted';

const digestOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

const nameOf = ({ task_id, generation, claim_id }: Handle): string => digestOf(task_id, generation, claim_id);
