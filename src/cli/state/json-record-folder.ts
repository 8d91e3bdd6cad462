import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** Flags that open a file for reading without following a link, which may lead anywhere. */
const READ_NO_FOLLOW = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);
const RECORD_FILE = /^([^.].*)\.json$/;

/** The name of a record that is identified by these values. */
export const recordName = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/**
 * A folder of small records, one file each, readable only by their owner. Writes are atomic and records share no
 * file, so that concurrent processes cannot damage each other's records.
 */
export class JsonRecordFolder<T> {
  constructor(private readonly folder: string) {}

  async get(name: string): Promise<T | null> {
    try {
      return JSON.parse(await readFile(this.pathOf(name), { encoding: 'utf8', flag: READ_NO_FOLLOW })) as T;
    } catch (error) {
      // Treat an unreadable record as absent; the next `put` replaces it.
      if (error instanceof SyntaxError || hasErrorCode(error, 'ENOENT', 'ELOOP')) return null;
      throw error;
    }
  }

  async all(): Promise<T[]> {
    const names = await readdir(this.folder).catch((): string[] => []);
    const recordFiles = names.filter((name) => RECORD_FILE.test(name)).sort();
    const records = await Promise.all(recordFiles.map((name) => this.get(name.replace(RECORD_FILE, '$1'))));
    return records.filter((record) => record !== null);
  }

  async put(name: string, record: T): Promise<void> {
    await rename(await this.writeTemporary(record), this.pathOf(name));
  }

  /** Creates the record if absent and returns the stored one, so that concurrent callers get the same record. */
  async putIfAbsent(name: string, record: T): Promise<T> {
    const temporary = await this.writeTemporary(record);
    try {
      await link(temporary, this.pathOf(name));
      return record;
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error;
      const existing = await this.get(name);
      if (existing === null) await this.put(name, record);
      return existing ?? record;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { force: true });
  }

  private pathOf(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  private async writeTemporary(record: T): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: PRIVATE_FOLDER });
    const temporary = join(this.folder, `.${randomBytes(8).toString('hex')}.tmp`);
    await writeFile(temporary, `${JSON.stringify(record)}\n`, { mode: PRIVATE_FILE, flag: 'wx' });
    return temporary;
  }
}

const hasErrorCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && codes.includes((error as NodeJS.ErrnoException).code ?? '');
