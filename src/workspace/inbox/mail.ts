import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { HeldFolder } from './held-folder.js';

/** How many outcomes an agent finds at most; the oldest go first. */
export const OUTCOMES_KEPT = 1000;
/** Not every outcome is worth a look at all of them. */
const PRUNE_EVERY = 100;

/** What agents are left: the outcomes of one agent's commands. */
export class Outcomes {
  /** How many there may be by now. */
  private count: number | null = null;

  private constructor(private readonly folder: HeldFolder) {}

  static async open(path: string): Promise<Outcomes> {
    return new Outcomes(await HeldFolder.make(path));
  }

  /** Whole or not at all: whoever waits for the file can read it the moment it is there. */
  async put(name: string, outcome: object): Promise<void> {
    await putWhole(this.folder, name, outcome);
    this.count ??= (await this.folder.names()).length;
    this.count += 1;
    if (this.count > OUTCOMES_KEPT + PRUNE_EVERY) await this.prune();
  }

  close(): Promise<void> {
    return this.folder.close();
  }

  private async prune(): Promise<void> {
    const names = (await this.folder.names()).map((name) => name.toString('utf8'));
    const found = await Promise.all(
      names.map(async (name) => ({ name, at_ms: (await stat(this.folder.at(name))).mtimeMs })),
    );
    found.sort((a, b) => a.at_ms - b.at_ms || (a.name < b.name ? -1 : 1));
    const old = found.slice(0, Math.max(0, found.length - OUTCOMES_KEPT));
    await Promise.all(old.map(({ name }) => rm(this.folder.at(name), { force: true, recursive: true })));
    this.count = found.length - old.length;
  }
}

/** Writes a small file under a name that is ignored, and moves it to its own. */
export async function putWhole(folder: HeldFolder, name: string, content: object): Promise<void> {
  const draft = folder.at(`.${name}.tmp`);
  const text = `${JSON.stringify(content)}\n`;
  try {
    await writeFile(draft, text, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    // A crash left it.
    await rm(draft, { force: true, recursive: true });
    await writeFile(draft, text, { flag: 'wx' });
  }
  await rename(draft, folder.at(name));
}
