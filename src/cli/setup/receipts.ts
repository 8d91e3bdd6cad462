import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Io } from '../io.js';
import { JsonRecordFolder } from '../state/json-record-folder.js';
import { userFolder } from '../user-folder.js';
import type { WrittenFile } from './apply.js';

export interface Receipt {
  readonly client: string;
  readonly written: readonly WrittenFile[];
}

/** What setup wrote: one receipt per client and root, stored in the user's folder, outside any project. */
export class Receipts {
  private readonly records: JsonRecordFolder<Receipt>;
  private readonly name: string;

  constructor(io: Io, client: string, root: string) {
    this.records = new JsonRecordFolder(join(userFolder(io), 'setup'));
    this.name = createHash('sha256')
      .update(JSON.stringify([client, root]))
      .digest('hex')
      .slice(0, 32);
  }

  async own(): Promise<readonly WrittenFile[]> {
    return (await this.records.get(this.name))?.written ?? [];
  }

  async all(): Promise<readonly WrittenFile[]> {
    return (await this.records.all()).flatMap(({ written }) => written);
  }

  save(receipt: Receipt): Promise<void> {
    return this.records.put(this.name, receipt);
  }

  remove(): Promise<void> {
    return this.records.remove(this.name);
  }
}
