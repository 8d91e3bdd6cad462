import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Io } from '../io.js';
import { Drawer } from '../memory/folder.js';
import { userFolder } from '../user-folder.js';
import type { Written } from './apply.js';

export interface Receipt {
  readonly client: string;
  readonly written: readonly Written[];
}

/** What was written for whom: one receipt for a client in a place, kept where no project is disturbed by it. */
export class Receipts {
  private readonly drawer: Drawer<Receipt>;
  private readonly name: string;

  constructor(io: Io, client: string, root: string) {
    this.drawer = new Drawer(join(userFolder(io), 'setup'));
    this.name = createHash('sha256')
      .update(JSON.stringify([client, root]))
      .digest('hex')
      .slice(0, 32);
  }

  async ours(): Promise<readonly Written[]> {
    return (await this.drawer.get(this.name))?.written ?? [];
  }

  async all(): Promise<readonly Written[]> {
    return (await this.drawer.all()).flatMap(({ written }) => written);
  }

  keep(receipt: Receipt): Promise<void> {
    return this.drawer.put(this.name, receipt);
  }

  forget(): Promise<void> {
    return this.drawer.remove(this.name);
  }
}
