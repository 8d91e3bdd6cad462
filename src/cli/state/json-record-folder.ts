import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** A link is not ours: it may lead anywhere. */
const READ_NO_FOLLOW = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);
const RECORD_FILE = /^([^.].*)\.json$/;

/**
 * A drawer of small records, a file each, readable by their owner alone. A record is put whole or not at all, and
 * no two records share a file, so that processes that remember at the same time cannot harm each other.
 */
export class JsonRecordFolder<T> {
  constructor(private readonly folder: string) {}

  async get(name: string): Promise<T | null> {
    try {
      return JSON.parse(await readFile(this.pathOf(name), { encoding: 'utf8', flag: READ_NO_FOLLOW })) as T;
    } catch (error) {
      // What cannot be read is as good as forgotten; it is written anew when there is something to remember.
      if (error instanceof SyntaxError || hasErrorCode(error, 'ENOENT', 'ELOOP')) return null;
      throw error;
    }
  }

  async all(): Promise<T[]> {
    const names = await readdir(this.folder).catch((): string[] => []);
    const kept = names.filter((name) => RECORD_FILE.test(name)).sort();
    const records = await Promise.all(kept.map((name) => this.get(name.replace(RECORD_FILE, '$1'))));
    return records.filter((record) => record !== null);
  }

  async put(name: string, record: T): Promise<void> {
    await rename(await this.writeTemporary(record), this.pathOf(name));
  }

  /** Puts the record only where there is none, and returns the one that is there: all who ask at once get the same. */
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
