import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Work } from '../../client/index.js';
import type { Context } from '../context.js';
import { homeFolder } from '../memory/home-folder.js';
import type { Place } from '../memory/memory.js';

/** Where work comes from, and the token that its server demands; null: none. */
export interface WorkPlace extends Place {
  readonly token: string | null;
}

/** What one piece of work is done at: a folder of its own, with the briefing in it and room for the result. */
export class WorkDesk {
  private constructor(
    private readonly folder: string,
    private readonly result_file: string,
    /** The result file as it was before the work: as long as it is the same, it is somebody else's. */
    private readonly before: string,
  ) {}

  static async open(work: Work, result_file: string | null): Promise<WorkDesk> {
    const folder = await mkdtemp(join(tmpdir(), 'gen-run-'));
    await writeFile(join(folder, 'briefing.json'), `${JSON.stringify(work.briefing)}\n`, { mode: 0o600 });
    const file = result_file === null ? join(folder, 'result') : resolve(result_file);
    return new WorkDesk(folder, file, await stampOf(file));
  }

  /** The handle, the briefing and the way to the server, for the program that does the work. */
  environment(
    { io }: Context,
    { url, token, tenant, project }: WorkPlace,
    { claim }: Work,
  ): NodeJS.ProcessEnv {
    return {
      ...io.env,
      GENESIS_URL: url,
      ...(token === null ? {} : { GENESIS_TOKEN: token }),
      GENESIS_TENANT: tenant,
      GENESIS_PROJECT: project,
      GENESIS_HOME: homeFolder(io),
      GENESIS_AGENT: claim.agent_id,
      GENESIS_SESSION: claim.session_id,
      GENESIS_TASK_ID: claim.task_id,
      GENESIS_GENERATION: String(claim.generation),
      GENESIS_CLAIM_ID: claim.id,
      GENESIS_BRIEFING: join(this.folder, 'briefing.json'),
      GENESIS_RESULT: this.result_file,
    };
  }

  /** What the work wrote as its result; null: nothing. */
  async result(): Promise<Uint8Array | null> {
    return (await stampOf(this.result_file)) === this.before ? null : readFile(this.result_file);
  }

  async clear(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function stampOf(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => null);
  return found === null ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`;
}
