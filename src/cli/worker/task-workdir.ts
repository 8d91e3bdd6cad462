import { constants } from 'node:fs';
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Work } from '../../client/index.js';
import { RESULT_BYTES_MAX } from '../../core/contract/values.js';
import type { CommandContext } from '../context.js';
import { cliFolder } from '../state/cli-folder.js';
import type { CliTarget } from '../state/cli-state.js';
import { PROGRAM_FILE_VARIABLE } from './program-file.js';

/** Where tasks come from, and the server's token; null if it needs none. */
export interface WorkTarget extends CliTarget {
  readonly token: string | null;
}

/** A temporary folder for one task, with its briefing and the path of its result. */
export class TaskWorkdir {
  private constructor(
    private readonly folder: string,
    private readonly resultFile: string,
    /** The result file's stamp before the task ran. An unchanged file is not this task's result. */
    private readonly resultStampBefore: string,
  ) {}

  static async open(work: Work, resultFile: string | null): Promise<TaskWorkdir> {
    const folder = await mkdtemp(join(tmpdir(), 'gen-run-'));
    await writeFile(join(folder, 'briefing.json'), `${JSON.stringify(work.briefing)}\n`, { mode: 0o600 });
    const file = resultFile === null ? join(folder, 'result') : resolve(resultFile);
    return new TaskWorkdir(folder, file, await fileStamp(file));
  }

  /** Environment variables for the program: the handle, the briefing, and the server's address. */
  environment(
    { io }: CommandContext,
    { url, token, tenant, project }: WorkTarget,
    { claim }: Work,
  ): NodeJS.ProcessEnv {
    return {
      ...io.env,
      GENESIS_URL: url,
      ...(token === null ? {} : { GENESIS_TOKEN: token }),
      GENESIS_TENANT: tenant,
      GENESIS_PROJECT: project,
      GENESIS_HOME: cliFolder(io),
      GENESIS_AGENT: claim.agent_id,
      GENESIS_SESSION: claim.session_id,
      GENESIS_TASK_ID: claim.task_id,
      GENESIS_GENERATION: String(claim.generation),
      GENESIS_CLAIM_ID: claim.id,
      GENESIS_BRIEFING: join(this.folder, 'briefing.json'),
      GENESIS_RESULT: this.resultFile,
      [PROGRAM_FILE_VARIABLE]: undefined,
    };
  }

  /** The result that the program wrote; null if it wrote none. */
  async readResult(): Promise<Uint8Array | null> {
    if ((await fileStamp(this.resultFile)) === this.resultStampBefore) return null;
    // Opening a pipe would wait for a writer, while the claim is renewed for ever.
    const file = await open(this.resultFile, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw new Error(`exit code 0, but ${this.resultFile} is not a regular file`);
      if (found.size > RESULT_BYTES_MAX)
        throw new Error(`exit code 0, but the result has ${found.size} bytes; at most ${RESULT_BYTES_MAX}`);
      const bytes = Buffer.alloc(found.size);
      const { bytesRead } = await file.read(bytes, 0, found.size, 0);
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function fileStamp(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => null);
  return found === null ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`;
}
