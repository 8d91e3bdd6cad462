import type { DiskFile } from './disk.js';

/** An open file that, once retired, closes when its last user is done: a segment may be closed while it is being read. */
export class SharedFile {
  private users = 0;
  private isRetired = false;

  constructor(readonly file: DiskFile) {}

  async use<T>(action: (file: DiskFile) => Promise<T>): Promise<T> {
    this.users += 1;
    try {
      return await action(this.file);
    } finally {
      this.users -= 1;
      if (this.isRetired && this.users === 0) await this.file.close();
    }
  }

  async retire(): Promise<void> {
    if (this.isRetired) return;
    this.isRetired = true;
    if (this.users === 0) await this.file.close();
  }
}
